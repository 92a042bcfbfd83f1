import { randomUUID } from 'node:crypto';
import type { ComponentChildren } from 'preact';
import { escaped, oneLine, printable, quotesIn } from '../../domain/printable.js';
import { capitalized } from '../../domain/text.js';
import { relativeTime } from '../../domain/time-told.js';
import { isUuid } from '../../domain/uuid.js';
import type { Settled } from '../services.js';
import type { Form } from '../visit.js';
import { EachWhole } from './whole.js';

/** Text that an agent, a tool or a person wrote, on one line; what nobody sees is shown as an escape. */
export const Foreign = ({ text }: { readonly text: string }) => <bdi class="foreign">{oneLine(text)}</bdi>;

/** The same over several lines. */
export const ForeignBlock = ({ text, label }: { readonly text: string; readonly label: string }) => (
  <ShownBlock shown={printable(text)} label={label} />
);

/** What is printable already. */
export const ShownBlock = ({ shown, label }: { readonly shown: string; readonly label: string }) => (
  <pre class="foreign" tabIndex={0} aria-label={oneLine(label)}>
    {shown}
  </pre>
);

/**
 * A sentence of Gate's around words of others: what nobody sees is shown as an escape there too, but it stands in the typeface of the page. What it
 * quotes is theirs.
 */
export const Said = ({ text }: { readonly text: string }) => (
  <bdi>{quotesIn(text).map((part, at) => (at % 2 === 0 ? part : <code key={at}>{part}</code>))}</bdi>
);

/** Between quotation marks none of the text's own, nor what looks like one, ends the quote. */
const withoutMarks = (text: string): string =>
  text.replaceAll(/[\u201C-\u201F\u2033\u2036\u275D\u275E\u301D-\u301F\uFF02"]/gu, escaped);

/** The same without elements of its own, which a browser would lay out in every row of a long list. */
export const SaidShort = ({ text }: { readonly text: string }) => (
  <bdi>
    {quotesIn(text)
      .map((part, at) => (at % 2 === 0 ? part : `“${withoutMarks(part)}”`))
      .join('')}
  </bdi>
);

/**
 * A time as how long ago or ahead it is; the exact one on hover, and beside it on paper, where nothing hovers, and in what is `timed`, where times are
 * compared.
 */
export function Time({ iso, nowMs }: { readonly iso: string; readonly nowMs: number }) {
  const away = Date.parse(iso) - nowMs;
  const exact = `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
  return (
    <time dateTime={iso} title={exact} data-time>
      {relativeTime(away)}
      <span class="exact"> ({exact})</span>
    </time>
  );
}

/** An id, whole on hover; a click selects it, and copies it where scripts run. */
export const Id = ({ id, short = false }: { readonly id: string; readonly short?: boolean }) => (
  <code class="id" title={oneLine(id)} data-copy={id}>
    {oneLine(short ? id.slice(0, 8) : id)}
  </code>
);

/** Says which service is away, where what it knows would stand. */
export const Away = ({ service, why }: { readonly service: string; readonly why: string }) => (
  <p class="notice bad" role="alert">
    {capitalized(service)} is away: <Foreign text={why} />. What it knows is not shown; the rest of the page is.
  </p>
);

/** What a service said, or that it is away, or why that is not to be trusted. */
export const OrAway = <Value,>({
  of,
  children,
}: {
  readonly of: Settled<Value>;
  readonly children: (value: Value) => ComponentChildren;
}) => {
  if (of.ok) return <>{children(of.value)}</>;
  return of.isEdited ? <Edited why={of.why} /> : <Away service={of.service} why={of.why} />;
};

/** Says that somebody wrote to a store past Gate, where that would stand which he wrote. */
export const Edited = ({ why, children }: { readonly why: string; readonly children?: ComponentChildren }) => (
  <p class="notice bad" role="alert">
    Somebody wrote to the store past Gate, so this is not shown: <Foreign text={why} />. {children}
  </p>
);

/** A list of names and what they stand for. */
export const Facts = ({ of }: { readonly of: readonly (readonly [string, ComponentChildren])[] }) => (
  <dl class="facts">
    {of.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** What to do where there is nothing to show. */
export const Empty = ({ children }: { readonly children: ComponentChildren }) => <p class="empty">{children}</p>;

/** The hidden field of every form. */
export const Csrf = ({ token }: { readonly token: string }) => <input type="hidden" name="csrf" value={token} />;

/** Names one sending of a form: after a lost answer the same one sent again does nothing twice. `of`: one that was refused. */
export const RequestId = ({ of }: { readonly of?: Form | undefined }) => (
  <input type="hidden" name="request" value={(of && requestIn(of)) ?? randomUUID()} />
);
export const requestIn = (form: Form): string | undefined => {
  const id = form.get('request');
  return isUuid(id) ? id : undefined;
};

/** The public key of a passkey that was registered just now, which the script puts here. */
export const PasskeyKey = () => (
  <div hidden data-passkey-key>
    <pre aria-label="The public key of your passkey" />
    <button type="button" data-copy="">
      Copy the public key
    </button>
  </div>
);

/** A number of a row, with what is counted before it where the row stands as a card. */
export const Count = ({ head, children }: { readonly head: string; readonly children: ComponentChildren }) => (
  <td class="number" data-head={head}>
    {children}
  </td>
);

/**
 * A table. With a label it scrolls by itself where the page is narrow. A column of numbers says so. As `cards` each row stands there in lines
 * instead, cells of class `lead` in the first, and a cell whose value says too little alone with its `data-head` before it.
 */
export function Table({
  label,
  cards = false,
  heads,
  children,
}: {
  readonly label?: string;
  readonly cards?: boolean;
  readonly heads: readonly (string | { readonly number: string })[];
  readonly children: ComponentChildren;
}) {
  const table = (
    <table class={cards ? 'rows cards' : 'rows'}>
      <thead>
        <tr>
          {heads.map((head) =>
            typeof head === 'string' ? (
              <th key={head} scope="col">
                {head}
              </th>
            ) : (
              <th key={head.number} scope="col" class="number">
                {head.number}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>
        <EachWhole>{children}</EachWhole>
      </tbody>
    </table>
  );
  if (label === undefined) return table;
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label={oneLine(label)}>
      {table}
    </div>
  );
}

/** Fields that a telephone folds behind a button, which needs no script; elsewhere they stand open. */
export const Folded = ({
  id,
  label,
  asks,
  children,
}: {
  readonly id: string;
  readonly label: string;
  /** How many of the fields are set: what is folded still counts. */
  readonly asks: number;
  readonly children: ComponentChildren;
}) => (
  <>
    <button type="button" class="menu" popovertarget={id}>
      {label}
      {asks > 0 && ` (${asks} set)`}
    </button>
    <div id={id} class="folded" popover="auto">
      {children}
    </div>
  </>
);
