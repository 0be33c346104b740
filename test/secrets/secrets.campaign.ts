/** The search for secrets after the whole matrix of upstream failures. */
import { cellsFor } from '../faults/table.ts';
import { campaign, showRow } from '../support/campaign.ts';
import { notFound, type Search, search } from './trial.ts';

function show(title: string, { found, bytes, requests }: Search): void {
  showRow(title, [requests, 'answers', bytes, 'bytes']);
  for (const [place, names] of found) showRow(`  ${place}`, [names.length, 'secrets']);
}

export default campaign({
  proves: 'no secret is in a log, a file, an error or a listing, and a program that leaks them is found out',
  minutes: 2,
  async run(course) {
    const asItIs = await search(course, cellsFor(['stays', 'leaves', 'leaves in the same moment']), 'as it is');
    show('as it is', asItIs);
    const exposed = await search(course, [], 'exposed');
    show('exposed', exposed);
    for (const [place, names] of asItIs.found) course.deviate(...names.map((name) => `${name} in ${place}`));
    course.deviate(...notFound(exposed.found));
    return `${asItIs.requests} answers, ${asItIs.bytes} bytes searched`;
  },
});
