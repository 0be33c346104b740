/** The session's model as React state. */
import { useCallback, useRef, useSyncExternalStore } from 'react';
import type { Model } from '../model.ts';
import type { Session } from '../session.ts';

type Watched = Pick<Session, 'model' | 'subscribe'>;

/**
 * Subscribes to the session. With a screen reader, live figures change only after a key press, since each change is
 * read aloud. `refresh` shows the current figures.
 */
export function useModel(session: Watched, isScreenReader: boolean): { readonly model: Model; refresh(): void } {
  const shown = useRef(session.model);
  const notify = useRef(() => {});
  const subscribe = useCallback(
    (listener: () => void) => {
      notify.current = listener;
      return session.subscribe(() => {
        if (isScreenReader && isSameToReader(shown.current, session.model)) return;
        shown.current = session.model;
        listener();
      });
    },
    [session, isScreenReader],
  );
  const model = useSyncExternalStore(subscribe, () => shown.current);
  const refresh = useCallback(() => {
    shown.current = session.model;
    notify.current();
  }, [session]);
  return { model, refresh };
}

/** Whether two models differ only in the time and the gateway's figures. */
export function isSameToReader(before: Model, now: Model): boolean {
  const parts = [
    'view',
    'dialog',
    'message',
    'trail',
    'columns',
    'rows',
    'isConnecting',
    'chartRange',
    'overview',
  ] as const;
  const { lists, usage, requests, keys, groups, live } = before;
  return (
    parts.every((part) => before[part] === now[part]) &&
    lists[before.view] === now.lists[before.view] &&
    usage.by === now.usage.by &&
    usage.range === now.usage.range &&
    usage.rowsBy === now.usage.rowsBy &&
    requests.search === now.requests.search &&
    requests.isReading === now.requests.isReading &&
    requests.isOpen === now.requests.isOpen &&
    keys.detail?.keyId === now.keys.detail?.keyId &&
    groups === now.groups &&
    live.isOpen === now.live.isOpen
  );
}
