/** What a test process does once, when all of its files have run. */

const works: (() => Promise<void>)[] = [];

export function atEnd(work: () => Promise<void>): void {
  works.push(work);
}

export async function endAll(): Promise<void> {
  for (const work of works) await work();
}
