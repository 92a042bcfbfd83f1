import type { Listener } from '../domain/upstream/call-talks.js';
import type { Upstream } from '../domain/upstream/upstream.js';

/** Shorter texts are not hidden: they protect nothing, and would be found in every answer. */
const SHORTEST = 8;
const HIDDEN = '[credential of Gate]';
/** Characters that may follow a cut text, as an ellipsis does. */
const CUT_SIGNS = 3;

/**
 * The upstream, whose answers do not repeat what Gate told it in confidence. Some servers echo the headers of a request, or the
 * environment that they run in, and the answer of a tool goes to an agent and into records.
 */
export function hidingSecrets(upstream: Upstream, secrets: () => readonly string[]): Upstream {
  const hidden = (text: string): string => {
    let shown = text;
    for (const secret of secrets()) {
      if (secret.length < SHORTEST) continue;
      const written = JSON.stringify(secret).slice(1, -1);
      shown = shown.replaceAll(written, HIDDEN).replaceAll(written.replaceAll('/', '\\/'), HIDDEN);
    }
    return shown;
  };
  /** Also hides the beginning of a secret in which the text was cut off. */
  const hiddenCut = (text: string): string => {
    const shown = hidden(text);
    for (const secret of secrets())
      for (let length = secret.length - 1; length >= SHORTEST; length -= 1) {
        const at = shown.lastIndexOf(secret.slice(0, length));
        if (at !== -1 && shown.length - at <= length + CUT_SIGNS) return shown.slice(0, at) + HIDDEN;
      }
    return shown;
  };
  const hide = <Outcome extends Awaited<ReturnType<Upstream['control']>>>(outcome: Outcome): Outcome => {
    if (outcome.kind === 'reply') return { ...outcome, text: hidden(outcome.text) };
    return 'reason' in outcome ? { ...outcome, reason: hiddenCut(outcome.reason) } : outcome;
  };
  const hiding = (listener: Listener): Listener => ({
    ...listener,
    told: (method, params) => listener.told(method, hidden(params)),
    asked: (method, params, timeoutMs, key, of) =>
      listener.asked(method, hidden(params), timeoutMs, key === undefined ? undefined : hidden(key), of),
  });
  const { listen } = upstream;
  return {
    ...upstream,
    callTool: async (caller, request, limits) =>
      hide(
        await upstream.callTool(caller, request, {
          ...limits,
          ...(limits.listener && { listener: hiding(limits.listener) }),
        }),
      ),
    control: async (caller, request, limits) => hide(await upstream.control(caller, request, limits)),
    ...(listen && { listen: (caller, listener, signal) => listen(caller, hiding(listener), signal) }),
  };
}
