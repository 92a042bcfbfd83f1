import type { IdentityClient } from '../../activities/clients/identity-client.js';
import type { CallStore } from '../../domain/call-record/ports.js';
import { errorText } from '../../domain/errors.js';

const EVERY_MS = 2_000;
const AT_ONCE = 500;

/** Tells identity how often grants were used, which this proxy and others count in the store that they share (docs/architecture/identity.md#grants). */
export function createGrantUseReporter({
  identity,
  calls,
  onFault,
  everyMs = EVERY_MS,
}: {
  readonly identity: () => Promise<Pick<IdentityClient, 'tellGrantUses'>>;
  readonly calls: Pick<CallStore, 'grantUsesUntold' | 'grantUsesTold'>;
  /** Told once per fault, and null when it is over. */
  readonly onFault: (reason: string | null) => void;
  readonly everyMs?: number;
}) {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let fault: string | null = null;
  let turn: Promise<void> = Promise.resolve();

  async function once(): Promise<void> {
    try {
      for (;;) {
        const uses = await calls.grantUsesUntold(AT_ONCE);
        if (uses.length > 0) {
          await (await identity()).tellGrantUses({ uses: [...uses] });
          await calls.grantUsesTold(uses);
        }
        if (stopped || uses.length < AT_ONCE) break;
      }
      if (fault !== null) onFault(null);
      fault = null;
    } catch (error) {
      const reason = errorText(error);
      if (!stopped && reason !== fault) onFault(reason);
      fault = reason;
    }
  }
  const next = (): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      turn = once().finally(next);
    }, everyMs).unref();
  };
  return {
    begin: next,
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      await turn;
    },
  };
}
