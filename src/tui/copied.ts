/** The text that `y` copies: a command, or the id or name of the row under the cursor. Pure. */
import { commandsOf, shellLine } from './command-line.ts';
import { currentRow } from './lists/groups.ts';
import { shownJournal } from './lists/journal.ts';
import { currentKey } from './lists/keys.ts';
import { shownRequests } from './lists/live.ts';
import { shownModels } from './lists/models.ts';
import { chosenItem } from './lists/overview.ts';
import { nameOfUsage, shownUsage } from './lists/usage.ts';
import type { Model } from './model.ts';

/** Returns the text to copy; undefined without a row under the cursor. */
export function copiedText(model: Model): string | undefined {
  const { lists, view } = model;
  const { cursor } = lists[view];
  switch (view) {
    case 'overview':
      return itemText(model);
    case 'keys':
      return currentKey(model)?.record.id;
    case 'live':
      return shownRequests(model)[cursor]?.id;
    case 'requests':
      return shownJournal(model)[cursor]?.id;
    case 'usage': {
      const row = shownUsage(model)[cursor];
      return row && (row.keyId ?? nameOfUsage(row));
    }
    case 'models':
      return shownModels(model)[cursor]?.id;
    case 'groups': {
      const row = currentRow(model);
      return row?.kind === 'user' ? row.level.name : row?.kind === 'group' || row?.kind === 'key' ? row.id : undefined;
    }
  }
}

function itemText(model: Model): string | undefined {
  const item = chosenItem(model);
  switch (item?.kind) {
    case 'trouble':
      return item.trouble.text;
    case 'key':
      return item.key.id;
    case 'upstream':
      return item.upstream.upstream;
    case undefined:
      return undefined;
  }
}

/** Returns the command line that is equivalent to the last change in this dashboard. */
export function lastCommand({ done, configOption }: Model): string | undefined {
  const last = done.at(-1);
  return last && shellLine(commandsOf(last.action, last.before), configOption);
}
