/**
 * Prints the bill of materials of a release, in CycloneDX's format (`npm run --silent make:bill`): the packages that are installed to
 * run, by the lock file. `npm sbom --omit dev` would leave out those that a package for development needs as well.
 */
import { execFileSync } from 'node:child_process';

interface Component {
  readonly 'bom-ref': string;
  readonly properties: readonly { readonly name: string; readonly value: string }[];
}

interface Bill {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const WORDS = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
const MOST_BYTES = 64e6;

function isForDevelopment({ properties }: Component): boolean {
  return properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true');
}

const all = JSON.parse(execFileSync('npm', WORDS, { encoding: 'utf8', maxBuffer: MOST_BYTES })) as Bill;
const left = new Set(all.components.filter(isForDevelopment).map((component) => component['bom-ref']));
const bill = {
  ...all,
  components: all.components.filter((component) => !left.has(component['bom-ref'])),
  dependencies: all.dependencies
    .filter(({ ref }) => !left.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => !left.has(other)) })),
};
console.log(JSON.stringify(bill, undefined, 2));
