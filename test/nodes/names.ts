/** Who may have the name of a gateway. */
import { Workplace } from '../support/cli.ts';
import type { Scope } from '../support/run-scope.ts';
import type { Cluster, Node } from './cluster.ts';
import type { Figures } from './figures.ts';

/** A second gateway of a name is refused; once the first one has stopped in an orderly way, the name is free at once. */
export async function fightForName(scope: Scope, cluster: Cluster, figures: Figures): Promise<void> {
  const node = cluster.nodes[0] as Node;
  const second = new Workplace(scope, node.place.read('config.yaml').toString());
  const { status, stderr } = await second.runAlone(['serve']);
  if (status !== 1 || !stderr.includes(node.name)) {
    figures.deviations.push(`a second gateway of the name ended with status ${status} and said ${stderr}`);
  }
  if (!(await node.isReady())) figures.deviations.push('the first gateway of the name was disturbed');
  await node.stop();
  const [row] = await cluster.query(`SELECT alive_us::int AS alive FROM inf_gw.nodes WHERE name = '${node.name}'`);
  if (row?.alive !== 0) figures.deviations.push('a gateway that has stopped still has its name');
  await node.start();
  figures.count('fights for a name');
}
