import type { UpstreamCaller } from '../../../domain/upstream/upstream.js';
import type { Listener } from '../../../domain/upstream/call-talks.js';

/**
 * One stream of the upstream for all streams of an agent's clients that can be asked the same: thousands of idle clients cost the upstream one
 * request. What it says goes to all of them; what it asks, to the one that has listened longest. Resolves once what it says is heard.
 */
export function sharedListening(
  listen: (caller: UpstreamCaller, listener: Listener, signal: AbortSignal) => Promise<void>,
) {
  interface Shared {
    readonly listeners: Set<Listener>;
    readonly stop: AbortController;
    /** Once the upstream's stream stands, or it is known that there is none now. */
    readonly opened: Promise<void>;
  }
  const open = new Map<string, Shared>();

  const begin = (caller: UpstreamCaller): Shared => {
    const listeners = new Set<Listener>();
    const stop = new AbortController();
    let isOpen: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => (isOpen = resolve));
    const all: Listener = {
      progress: false,
      opened: isOpen,
      told(method, params) {
        for (const listener of listeners) listener.told(method, params);
      },
      async asked(...question) {
        const [first] = listeners;
        if (!first) throw new Error('the client is gone');
        return first.asked(...question);
      },
    };
    void listen(caller, all, stop.signal);
    return { listeners, stop, opened };
  };

  return ({ tenant, agent, client_can }: UpstreamCaller, listener: Listener, signal: AbortSignal): Promise<void> => {
    if (signal.aborted) return Promise.resolve();
    const key = JSON.stringify([tenant, agent, client_can ?? []]);
    const held = open.get(key) ?? begin({ tenant, agent, ...(client_can && { client_can }) });
    open.set(key, held);
    held.listeners.add(listener);
    signal.addEventListener(
      'abort',
      () => {
        held.listeners.delete(listener);
        if (held.listeners.size > 0) return;
        held.stop.abort();
        if (open.get(key) === held) open.delete(key);
      },
      { once: true },
    );
    return held.opened;
  };
}
