import type { Json } from '../../../contracts/json.js';
import type { JudgedAgain, Settled } from '../../services.js';
import { callAddress } from '../../ui/addresses.js';
import { Foreign, OrAway, Table } from '../../ui/parts.js';

/** Whether the rules of now say the same of the call, asked when somebody wants to know. It changes nothing of what was decided. */
export const Again = ({ id, of }: { readonly id: string; readonly of: Settled<JudgedAgain | null> | null }) => (
  <section class="wide" aria-labelledby="again" id="judged-again">
    <h2 id="again">Today's rules</h2>
    {of === null ? (
      <p>
        <a href={`${callAddress(id)}?judged=again#judged-again`}>Ask today's rules about this call</a>
      </p>
    ) : (
      <OrAway of={of}>{(judged) => <Judged of={judged} />}</OrAway>
    )}
  </section>
);

function Judged({ of }: { readonly of: JudgedAgain | null }) {
  if (of === null) return <p class="dim">Policy judged no such call.</p>;
  if ('not' in of)
    return (
      <p class="dim">
        {of.not === 'purged'
          ? 'Its input was purged at its date, so nobody can judge it again.'
          : 'A batch is not judged again here: its calls are judged one by one, with what each leaves for the next.'}
      </p>
    );
  const facts = [
    ['Allowed', told(of.then['allow']), told(of.now.allow)],
    ['Denied, because', told(of.then['reasons']), told(of.now.reasons)],
    ['Asks a person, because', told(of.then['review_reasons']), told(of.now.review_reasons)],
    ['Tier of approval', told(of.then['approval_tier']), told(of.now.approval_tier)],
  ] as const;
  const isSame = facts.every(([, then, now]) => then === now);
  const bundle = of.then['policy_bundle'];
  const before =
    typeof bundle === 'object' && bundle !== null && !Array.isArray(bundle) ? bundle['hash_sha256'] : undefined;
  return (
    <>
      <p>
        <span class={`tag ${isSame ? 'allow' : 'park'}`}>{isSame ? 'the same' : 'different'}</span>{' '}
        {isSame ? 'They say of it what was said then' : 'They say something else of it than was said then'}
        {before === of.now.policy_bundle.hash_sha256 ? '; the rules are the same.' : '; the rules have changed since.'}
      </p>
      <Table label="Then and now" heads={['Policy', 'Then', 'Now']}>
        {facts.map(([name, then, now]) => (
          <tr key={name} class={then === now ? undefined : 'changed'}>
            <th scope="row">{name}</th>
            <td>
              <Foreign text={then} />
            </td>
            <td>
              <Foreign text={now} />
            </td>
          </tr>
        ))}
      </Table>
      <p class="dim">
        Of the input that row {of.seq} commits to, as it was judged; what inspection found counts as it was recorded.
      </p>
    </>
  );
}

const told = (value: Json | undefined): string => {
  if (value === true) return 'yes';
  if (value === false) return 'no';
  if (Array.isArray(value))
    return value.length === 0
      ? 'nothing'
      : value
          .filter((line) => typeof line === 'string')
          .toSorted()
          .join('; ');
  return typeof value === 'string' ? value : 'none';
};
