import { createIdentityClient, type IdentityClient } from '../../activities/clients/identity-client.js';
import { revocationVerifier } from '../../adapters/identity/revocation-signature.js';
import { trustedBy } from '../../domain/identity/live-tls.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import type { KnownStanding, Opening, Over } from './declaration.js';
import { watchRevocations } from './revocation-watch.js';

/** Asks identity, over mutual TLS also where it is in this process. */
export function knownStanding({
  over,
  trustDomain,
  tls,
  logger,
  onStop,
}: Pick<Opening<unknown>, 'trustDomain' | 'tls' | 'logger' | 'onStop'> & {
  readonly over: () => Promise<Over>;
}): KnownStanding {
  const mirror = createRevocationMirror({ trustDomain });
  const verified = revocationVerifier(trustedBy(tls));
  let client: Promise<IdentityClient> | undefined;
  const watch = watchRevocations({
    mirror,
    ask: async (after) => verified(await (await (client ??= over().then(createIdentityClient))).revocations(after)),
    onFault: (reason) =>
      reason === null
        ? logger.info({ event: 'revocations_known' }, 'what identity took back, and whom it stopped, is known again')
        : logger.error(
            { event: 'revocations_unknown', reason },
            'what identity took back, and whom it stopped, cannot be asked',
          ),
    onOtherHistory: () =>
      logger.error(
        { event: 'revocations_other_history' },
        'the store of identity was put back to an earlier state, or another one answers: all revocations are asked for anew, and what is known stays known',
      ),
  });
  onStop('sweeps', 'the watch over revocations', watch.stop);
  let started: Promise<void> | undefined;
  return { mirror, start: () => (started ??= watch.start()) };
}
