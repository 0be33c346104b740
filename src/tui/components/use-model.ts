/** The model of a session as React state. */
import { useCallback, useRef, useSyncExternalStore } from 'react';
import type { Model } from '../model.ts';
import type { Session } from '../session.ts';

type Watched = Pick<Session, 'model' | 'subscribe'>;

/**
 * Follows the session. For a screen reader, figures that change by themselves stay as they are until a key is pressed:
 * each change would be read out. `refresh` takes the present ones.
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

/** Whether only time and figures of the gateway have changed. */
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
