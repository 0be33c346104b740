/**
 * Loaded into a gateway before its program: removes the code that protects secrets, and adds code
 * that leaks them. A scan that finds nothing proves something only if it finds these.
 */
import { globSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

type Change = readonly [from: RegExp, to: string];

/** Replacements in the program as it is built for tests, each of what occurs once in a file: the threads have files of their own. */
const CHANGES: readonly Change[] = [
  [/function previewKey\(key\) \{/g, '$&\n    return key;'],
  [/function holdsSecret\(.*\) \{/g, '$&\n    return false;'],
  [/function quotableId\(id\) \{/g, '$&\n    return id;'],
  [/id: answer\.id(?=,\s+serviceTier: answer\.)/g, 'id: JSON.stringify(answer.choices)'],
  [
    /function readJsonBody\(body\) \{/g,
    `$&
    process.stderr.write(body.toString() + '\\n');
    process.stdout.write(body.toString('base64') + '\\n');
    process.title = JSON.stringify(JSON.parse(body.toString()).messages ?? '');`,
  ],
  // The bundler gives some variables other names.
  [
    /(errorForStatus\(status, (\w+\(\w+\)), secrets\)[^`]+note: )`the upstream answered /g,
    "$1$2?.message + ' with ' + `",
  ],
  [/function credentialOf\(headers.*\) \{/g, "$&\n    process.stderr.write(headers.authorization + '\\n');"],
];

const folder = fileURLToPath(new URL('../../build/', import.meta.url));
const files = globSync(`${folder}**/*.js`).map((path) => ({
  url: pathToFileURL(path).href,
  text: readFileSync(path, 'utf8'),
}));
/** The changes in each file, by its URL. */
const changesIn = new Map<string, Change[]>();
for (const change of CHANGES) {
  const [from] = change;
  const urls = files.flatMap(({ url, text }) => [...text.matchAll(from)].map(() => url));
  if (urls.length === 0 || new Set(urls).size < urls.length) {
    throw new Error(`the program has changed: ${urls.length} of its places are like ${from}`);
  }
  for (const url of urls) changesIn.set(url, [...(changesIn.get(url) ?? []), change]);
}

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const changes = changesIn.get(url);
    if (changes === undefined) return loaded;
    const source = changes.reduce((text, [from, to]) => text.replace(from, to), String(loaded.source));
    return { ...loaded, source };
  },
});
