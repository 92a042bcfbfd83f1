import { toolOf } from '../../../contracts/call-methods.js';
import {
  LONGEST_DECISION_REASON,
  MODIFICATION_CONTRACT,
  type ModificationDiff,
  type PendingRequest,
} from '../../../contracts/review.js';
import { GateError } from '../../../domain/errors.js';
import { mixedWord, printable, wholeLookalike } from '../../../domain/printable.js';
import { predictionOf } from '../../../domain/sandbox/told.js';
import { isUuid } from '../../../domain/uuid.js';
import { reviewAddress } from '../../ui/addresses.js';
import { Csrf, Empty, Foreign } from '../../ui/parts.js';
import { Typed } from '../../ui/typed.js';
import {
  type Action,
  CHANGED,
  type Form,
  type Page,
  type Shown,
  type SigningVisit,
  signingVisit,
  type Visit,
} from '../../visit.js';
import { isScalar, type Leaf, leavesIn, readingOf, type Scalar, valueText } from './arguments.js';
import { DecisionFields, LinkField, ListFields, Signature } from './decision-fields.js';
import { NotByEnter, NotByEnterTold, signed, whyNotChanged } from './forms.js';
import { inList, listAddress, queueQuery } from './list-address.js';

/** As a number stands in JSON. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** Values of a change are masked for nobody (docs/decisions/changed-values-in-the-ledger.md). */
const RECORDED =
  'The ledger keeps what you change in clear, for good, and everybody who signs in for this tenant reads it there.';
const lines = (text: string): string => text.replaceAll('\r\n', '\n');

/** Why a value cannot be typed here; `null` where it can. */
const notHere = ({ value, replaceable }: Leaf): string | null =>
  !isScalar(value)
    ? 'is empty, and nothing is added to it'
    : !replaceable
      ? 'stands in a list, which is not changed'
      : typeof value !== 'string' || printable(lines(value)) === lines(value)
        ? null
        : `has ${passesForOther(value) ? 'letters that pass for others' : 'characters that are shown as escapes'}; gate decide modify replaces it`;
const passesForOther = (text: string): boolean => (mixedWord(text) ?? wholeLookalike(text)) !== undefined;

/** What the form changes of the row's arguments. Throws `invalid_modification_diff` with the argument that cannot be read. */
export function changesIn(row: PendingRequest, form: Form): Pick<ModificationDiff, 'replacements'> {
  const replacements = leavesIn(row).flatMap((leaf, at) => {
    // A form may have as many fields as a call has values: each is looked up, and none is looked for among the others.
    const field = `value.${at}`;
    const typed = form.all(field).length === 0 ? undefined : form.get(field);
    const { path, name, value: was } = leaf;
    if (typed === undefined || !isScalar(was) || notHere(leaf) !== null) return [];
    const value = valueOf(name, was, lines(typed));
    return value === (typeof was === 'string' ? lines(was) : was) ? [] : [{ path: [...path], value }];
  });
  return { replacements };
}

/** A typed text as the type that stands there now; a null takes a text. */
function valueOf(name: string, value: Scalar, typed: string): Scalar {
  const wrong = (what: string) =>
    new GateError('invalid_modification_diff', `${name} takes ${what}, not ${JSON.stringify(typed.slice(0, 40))}`);
  switch (typeof value) {
    case 'number': {
      const number = Number(typed.trim());
      if (!NUMBER.test(typed.trim()) || !Number.isFinite(number)) throw wrong('a number');
      // As no request may hold it: another number would be sent.
      if (Number.isInteger(number) && !Number.isSafeInteger(number)) throw wrong('a number of at most 2^53-1');
      return number;
    }
    case 'boolean':
      if (typed !== 'true' && typed !== 'false') throw wrong('true or false');
      return typed === 'true';
    default:
      return value === null && typed === '' ? null : typed;
  }
}

async function rowIn({ params: { id = '' }, services: { hil } }: Visit): Promise<PendingRequest | null> {
  return isUuid(id) ? hil.row(id) : null;
}

const noSuchCall = (): Shown => ({
  title: 'No such call',
  status: 404,
  body: (
    <Empty>
      No such call waits. <a href="/hil">The queue</a>
    </Empty>
  ),
});

export const MODIFY_FORM: Page = {
  path: '/hil/:id/modify',
  role: 'approver',
  async show(visit) {
    const row = await rowIn(visit);
    if (row === null) return noSuchCall();
    return modifyShown(visit, row, null);
  },
};

/** The changed call before it is sent: each value as it was and as it would be. */
export const PREVIEW: Action = {
  path: '/hil/:id/modify/preview',
  role: 'approver',
  does: 'look at a changed call before it is sent',
  written: CHANGED,
  async act(visit, form) {
    const row = await rowIn(visit);
    if (row === null) throw new GateError('not_found');
    if (row.status !== 'pending') throw new GateError('already_decided');
    const { replacements } = changesIn(row, form);
    if (replacements.length === 0) throw new GateError('invalid_modification_diff', 'nothing was changed');
    return previewShown(await signingVisit(visit), row, form, replacements);
  },
  refused: async (visit, form) => {
    const row = await rowIn(visit);
    return row === null ? noSuchCall() : modifyShown(visit, row, form);
  },
};

/** From the preview back to the values, with what was typed. */
export const CHANGE_MORE: Action = {
  path: '/hil/:id/modify/more',
  role: 'approver',
  does: 'go on with the change of a call',
  written: CHANGED,
  async act(visit, form) {
    const row = await rowIn(visit);
    if (row === null) throw new GateError('not_found');
    return modifyShown(visit, row, form);
  },
  refused: PREVIEW.refused,
};

/** The values of a call to change, with what was typed before. */
export function modifyShown(visit: Visit, row: PendingRequest, form: Form | null): Shown {
  const leaves = leavesIn(row);
  const first = leaves.find((leaf) => notHere(leaf) === null);
  const whole = readingOf(row).isWhole;
  const fixed = whyNotChanged(row);
  const on = form === null ? visit : inList(visit, form);
  const query = queueQuery(on);
  return {
    title: `Change ${toolOf(row)}`,
    keptForBack: form !== null,
    body: (
      <section class="modify">
        <h1>
          Change <Foreign text={toolOf(row)} /> for <Foreign text={row.agent_id} />
        </h1>
        <p>
          {row.status === 'pending' &&
            `The changed call is judged again. If policy denies it or asks for more, it is denied. ${RECORDED} `}
          <a href={listAddress(reviewAddress(row.id), query)}>Back to the call</a>
        </p>
        {row.status !== 'pending' ? (
          <>
            <Empty>
              It is <span class={`tag ${row.status}`}>{row.status}</span> already, so nothing of it is changed.
            </Empty>
            {form && <Typed form={form} />}
          </>
        ) : fixed !== null ? (
          <Empty>{fixed}</Empty>
        ) : !whole || leaves.length > 200 ? (
          <Empty>
            This call is too large to be changed here: <code>npx gate decide {row.id} modify --modify FILE</code>.
          </Empty>
        ) : first === undefined ? (
          <Empty>It has no argument whose value can be changed.</Empty>
        ) : (
          <form method="post" action={reviewAddress(row.id, 'modify/preview')}>
            <Csrf token={visit.csrf} />
            <ListFields query={query} />
            <LinkField visit={on} />
            {leaves.map((leaf, at) => (
              <Field
                key={JSON.stringify(leaf.path)}
                leaf={leaf}
                at={at}
                typed={form?.all(`value.${at}`)[0]}
                isFirst={leaf === first}
              />
            ))}
            {form !== null && <input type="hidden" name="reason" value={form.get('reason')} />}
            <button class="act" type="submit">
              Look at the change
            </button>
          </form>
        )}
      </section>
    ),
  };
}

function Field({
  leaf,
  at,
  typed,
  isFirst,
}: {
  readonly leaf: Leaf;
  readonly at: number;
  readonly typed: string | undefined;
  /** Of those that change: there the focus begins. */
  readonly isFirst: boolean;
}) {
  const id = `value-${at}`;
  const not = notHere(leaf);
  const now =
    typed === undefined ? (isScalar(leaf.value) && leaf.value !== null ? String(leaf.value) : '') : lines(typed);
  return (
    <p class="field">
      <label for={id}>
        <bdi class="foreign">{printable(leaf.name)}</bdi>
      </label>
      {not !== null ? (
        <span id={id}>
          <span class="foreign text">{printable(valueText(leaf.value))}</span> <span class="dim">{not}</span>
        </span>
      ) : typeof leaf.value === 'boolean' ? (
        <select id={id} name={`value.${at}`} autofocus={isFirst}>
          {['true', 'false'].map((option) => (
            <option key={option} value={option} selected={option === now}>
              {option}
            </option>
          ))}
        </select>
      ) : typeof leaf.value === 'number' ? (
        <input id={id} name={`value.${at}`} value={now} inputMode="decimal" autofocus={isFirst} />
      ) : (
        // A line break first in the text would be swallowed.
        <textarea id={id} name={`value.${at}`} autofocus={isFirst} rows={Math.min(8, now.split('\n').length)}>
          {now.startsWith('\n') ? `\n${now}` : now}
        </textarea>
      )}
    </p>
  );
}

function previewShown(
  visit: SigningVisit,
  row: PendingRequest,
  form: Form,
  replacements: ModificationDiff['replacements'],
): Shown {
  const leaves = leavesIn(row);
  const on = inList(visit, form);
  const query = queueQuery(on);
  const changed = new Map(replacements.map(({ path, value }) => [JSON.stringify(path), value]));
  return {
    title: `Change ${toolOf(row)}?`,
    keptForBack: true,
    body: (
      <section class="modify">
        <h1>
          Run <Foreign text={toolOf(row)} /> with these arguments?
        </h1>
        <table class="values diff">
          <thead>
            <tr>
              <th scope="col">Argument</th>
              <th scope="col">As asked</th>
              <th scope="col">As you change it</th>
            </tr>
          </thead>
          <tbody>
            {leaves.map(({ path, name, value }) => {
              const key = JSON.stringify(path);
              const now = changed.get(key) ?? null;
              return (
                <tr key={key} class={changed.has(key) ? 'changed' : undefined}>
                  <th scope="row">
                    <bdi class="foreign">{printable(name)}</bdi>
                  </th>
                  <td class="foreign text">{printable(valueText(value))}</td>
                  <td class="foreign text">
                    {changed.has(key) ? <ins>{printable(valueText(now))}</ins> : <span class="dim">the same</span>}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
        {row.sandbox_report && (
          <p class="standing">
            Nobody predicted what this does. Of the call as its agent asked for it, before the change:{' '}
            <Foreign text={predictionOf(row)} />.
          </p>
        )}
        <p>{RECORDED}</p>
        <form method="post" action={reviewAddress(row.id, 'modify')}>
          <DecisionFields row={row} query={query} visit={on} />
          <Signature needed={visit.passkeyFor(row.approval_tier)} />
          {leaves.flatMap((_, at) =>
            form.all(`value.${at}`).map((typed) => <input key={at} type="hidden" name={`value.${at}`} value={typed} />),
          )}
          <NotByEnter />
          <label for="reason">Reason, which its agent is told</label>
          <input
            id="reason"
            name="reason"
            maxLength={LONGEST_DECISION_REASON}
            value={form.get('reason')}
            aria-describedby="not-by-enter"
            autofocus
          />
          <NotByEnterTold />
          <button
            class="act"
            type="submit"
            {...signed(visit, row, {
              decision: 'modify',
              modification_diff: { contract: MODIFICATION_CONTRACT, replacements },
            })}
          >
            Approve with this change
          </button>
          <button type="submit" formaction={reviewAddress(row.id, 'modify/more')}>
            Change more
          </button>
        </form>
      </section>
    ),
  };
}
