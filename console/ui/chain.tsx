import { Fragment } from 'preact';
import type { ChainHealth, Settled } from '../services.js';
import { Foreign, Id, OrAway, Time } from './parts.js';

/** What the last walk of the chain found. */
export const Chain = ({ of, nowMs }: { readonly of: Settled<ChainHealth | 'walking'>; readonly nowMs: number }) => (
  <OrAway of={of}>
    {(chain) =>
      chain === 'walking' ? (
        <p class="dim" role="status">
          The chain is being walked; load the page again in a moment.
        </p>
      ) : (
        <Walked chain={chain} nowMs={nowMs} />
      )
    }
  </OrAway>
);

const Walked = ({ chain, nowMs }: { readonly chain: ChainHealth; readonly nowMs: number }) => {
  const { valid, length, checked_at, checkpoint } = chain;
  if (!valid)
    return (
      <p class="notice bad" role="alert">
        The chain does not hold, as a walk found <Time iso={checked_at} nowMs={nowMs} />. Decide nothing on what it
        says; <code>npx gate verify</code> says more.
      </p>
    );
  if (length === 0)
    return (
      <p class="dim">
        The ledger had no row when it was walked, <Time iso={checked_at} nowMs={nowMs} />. What came since is walked
        when the page is loaded again.
      </p>
    );
  return (
    <p class="dim">
      The chain holds: {length} rows, walked <Time iso={checked_at} nowMs={nowMs} />
      {checkpoint ? (
        <>
          ; newest checkpoint of <code>{checkpoint.origin}</code> over {checkpoint.size} rows, root{' '}
          <Id id={checkpoint.root} short />
          {checkpoint.witnesses.length === 0 && ', which no witness has signed'}
          {checkpoint.witnesses.map(({ name, signed_at }) => (
            <Fragment key={name}>
              , signed by the witness <Foreign text={name} /> <Time iso={signed_at} nowMs={nowMs} />
            </Fragment>
          ))}
          .
        </>
      ) : (
        '; the ledger signs no checkpoints (GATE_LEDGER_CHECKPOINT_KEY_FILE).'
      )}
    </p>
  );
};
