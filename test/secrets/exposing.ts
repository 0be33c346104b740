/**
 * Loaded into a gateway before its program: removes the code that protects secrets, and adds code
 * that leaks them. A scan that finds nothing proves something only if it finds these.
 */
import { registerHooks } from 'node:module';

/** Replacements in modules, by the end of their URLs. */
const CHANGES: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  '/dist/core/api-key.js': [['export function previewKey(key) {', '$&\n    return key;']],
  '/dist/wire/secrets.js': [['export function holdsSecret(text, secrets) {', '$&\n    return false;']],
  '/dist/dialects/answer.js': [['export function quotableId(id) {', '$&\n    return id;']],
  '/dist/dialects/chat/answer.js': [['id: answer.id', 'id: JSON.stringify(answer.choices)']],
  '/dist/wire/body.js': [
    [
      'export function readJsonBody(body) {',
      `$&
    process.stderr.write(body.toString() + '\\n');
    process.stdout.write(body.toString('base64') + '\\n');
    process.title = JSON.stringify(JSON.parse(body.toString()).messages ?? '');`,
    ],
  ],
  '/dist/relay/failures.js': [['note: `the upstream answered ', "note: words?.message + ' with ' + `"]],
  '/dist/http/authorization.js': [
    ['export function credentialOf(headers) {', "$&\n    process.stderr.write(headers.authorization + '\\n');"],
  ],
};

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const changes = Object.entries(CHANGES).find(([end]) => url.endsWith(end))?.[1];
    if (changes === undefined) return loaded;
    let source = String(loaded.source);
    for (const [from, to] of changes) {
      if (!source.includes(from)) throw new Error(`${url} has changed: it does not contain ${from}`);
      source = source.replace(from, to);
    }
    return { ...loaded, source };
  },
});
