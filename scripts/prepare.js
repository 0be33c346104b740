/**
 * What npm runs once it has installed the packages of a checkout: builds the program and its man page. `npm ci --omit=dev` leaves out what builds;
 * then the program runs from its sources. Without types, since the pinned Node is left out as well, and an older one reads this.
 */
let canBuild = true;
try {
  import.meta.resolve('esbuild');
} catch {
  canBuild = false;
}
if (canBuild) {
  await import('./bundle.ts');
  const { writeManPage } = await import('./man-page.ts');
  await writeManPage();
} else console.error('not built, since esbuild is not installed: inf-gw runs from its sources, and starts more slowly');
