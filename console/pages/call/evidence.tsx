import type { ComponentChildren } from 'preact';
import { z } from 'zod';
import type { Json } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { injectedPlace } from '../../../contracts/inspection.js';
import { taint } from '../../../contracts/policy.js';
import { at } from '../../../domain/json-pointer.js';
import { oneLine, printable } from '../../../domain/printable.js';
import { shownJson } from '../../../domain/shown-json.js';
import { textsIn } from '../../../domain/texts-in.js';
import { isUuid } from '../../../domain/uuid.js';
import { callAddress } from '../../ui/addresses.js';
import { Foreign, Id } from '../../ui/parts.js';

/** So many are marked; a text with more marks is read by nobody. */
const MOST_SIGNALS = 20;

/** What spoke against a call and says by what of its request: a value at a place, or words that stand there. */
export interface Signal {
  readonly says: ComponentChildren;
  /** JSON Pointers, of which the first one that is there counts; or words. */
  readonly evidence: { readonly places: readonly string[] } | { readonly words: string };
}

const listed = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

/** What inspection told policy that it suspects: classes, never words of a request. */
export const suspicionsIn = (told: Json): readonly string[] => [
  ...new Set(['/injection_suspicions', '/intent_suspicions'].flatMap((pointer) => textsIn(at(told, pointer)))),
];

/** The signals of a call that state their evidence, from its rows and from what policy was told of it; the fewest of a kind first. */
export const signalsOf = (rows: readonly LedgerEntry[], told: Json): readonly Signal[] => [
  ...packagesIn(rows),
  ...lookalikesIn(rows),
  ...ordersIn(told),
  ...flowsIn(told),
];

/** The calls of a batch stand in its parameters, or in the arguments of the tool that it is sent as. */
const callsAt = (call: number | undefined): readonly string[] =>
  call === undefined ? [''] : [`/calls/${call}`, `/arguments/calls/${call}`, ''];

/** Texts that instruct a model, or may. */
const ordersIn = (told: Json): readonly Signal[] =>
  listed(at(told, '/injected_at')).flatMap((one) => {
    const { data: place } = injectedPlace.safeParse(one);
    if (!place) return [];
    if (place.at === '')
      return [{ says: 'inspection did not look for orders at each text of this request', evidence: { places: [] } }];
    const places = callsAt(place.call).map((base) => `${base}${place.at}`);
    return [{ says: 'inspection reads this text as an order to a model', evidence: { places } }];
  });

/** Values that an answer brought in; one that was not kept says no place. */
const flowsIn = (told: Json): readonly Signal[] =>
  listed(at(told, '/taint')).flatMap((one) => {
    const { data: flow } = taint.safeParse(one);
    if (!flow || flow.tool === '' || flow.argument === '') return [];
    const places = callsAt(flow.call).map((base) => `${base}/arguments${flow.argument}`);
    return [
      {
        // The names of arguments are masked in the text, so that no pointer is shown beside it.
        says: (
          <>
            a value was read from the answer of{' '}
            {isUuid(flow.from) ? (
              <a href={callAddress(flow.from)}>
                call <Id id={flow.from} short />
              </a>
            ) : (
              <Foreign text={flow.from} />
            )}{' '}
            (<Foreign text={flow.tool} />
            ), not told by the user
          </>
        ),
        evidence: { places },
      },
    ];
  });

const PACKAGES = 'BLOCK: compromised_package (';

/** Packages that inspection named as the reason of its refusal. */
const packagesIn = (rows: readonly LedgerEntry[]): readonly Signal[] => {
  const said = rows.findLast((row) => row.event_kind === 'brain.inspection')?.reasoning ?? '';
  if (!said.startsWith(PACKAGES) || !said.endsWith(')')) return [];
  return said
    .slice(PACKAGES.length, -1)
    .split(', ')
    .flatMap((found) => {
      const [kind, named = ''] = found.split(':', 2);
      const [name = '', target] = named.split('~', 2);
      if (name === '' || (kind !== 'known_malicious' && kind !== 'typosquat')) return [];
      const says =
        kind === 'known_malicious' ? (
          <>
            the package <Foreign text={name} /> is known to be malicious
          </>
        ) : (
          <>
            the package <Foreign text={name} /> looks like <Foreign text={target ?? ''} />
          </>
        );
      return [{ says, evidence: { words: name } }];
    });
};

const lookalike = z.object({ called: z.string().min(1), nearest: z.string() });

/** Names of tools that are taken for others. */
const lookalikesIn = (rows: readonly LedgerEntry[]): readonly Signal[] =>
  listed(rows.findLast((row) => row.event_kind === 'proxy.verdict')?.policy_decision?.['lookalikes']).flatMap((one) => {
    const { data: found } = lookalike.safeParse(one);
    if (!found) return [];
    const says = (
      <>
        the tool <Foreign text={found.called} /> looks like <Foreign text={found.nearest} />
      </>
    );
    return [{ says, evidence: { words: found.called } }];
  });

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Where the evidence of each signal stands in the text that is shown; `null` where it does not. */
function rangesOf(of: Json, most: number, signals: readonly Signal[]) {
  const stood = new Map<string, Range>();
  const asked = new Set(signals.flatMap(({ evidence }) => ('places' in evidence ? evidence.places : [])));
  const { text } = shownJson(of, most, (pointer, from, to) => {
    if (asked.has(pointer)) stood.set(pointer, { from, to });
  });
  const ranges = signals.map(({ evidence }): Range | null => {
    if ('words' in evidence) return wordsIn(text, evidence.words);
    return evidence.places.map((place) => stood.get(place)).find((range) => range !== undefined) ?? null;
  });
  return { text, ranges };
}

const isOfWord = (letter: string | undefined): boolean =>
  letter !== undefined &&
  (letter.toLowerCase() !== letter.toUpperCase() ||
    (letter >= '0' && letter <= '9') ||
    letter === '_' ||
    letter === '-');

/** The first place of these words that is no part of a longer one. */
function wordsIn(text: string, words: string): Range | null {
  for (let from = text.indexOf(words); from >= 0; from = text.indexOf(words, from + 1)) {
    const to = from + words.length;
    if (!isOfWord(text[from - 1]) && !isOfWord(text[to])) return { from, to };
  }
  return null;
}

interface Mark extends Range {
  /** The signals that it is evidence of, from 1. */
  readonly of: readonly number[];
}

/** In the order of the text. What several signals point at is one mark; of two that overlap otherwise the first one stands. */
function marksOf(ranges: readonly (Range | null)[]): readonly Mark[] {
  const marks: Mark[] = [];
  const ordered = ranges
    .flatMap((range, index) => (range && range.to > range.from ? [{ ...range, of: [index + 1] }] : []))
    .toSorted((one, other) => one.from - other.from || other.to - one.to);
  for (const mark of ordered) {
    const last = marks.at(-1);
    if (!last || mark.from >= last.to) marks.push(mark);
    else if (mark.to <= last.to) marks[marks.length - 1] = { ...last, of: [...last.of, ...mark.of] };
  }
  return marks;
}

/** The text cut at its marks, each part as it is shown. `null` where the parts together would not be shown as the whole is. */
function partsOf(text: string, marks: readonly Mark[]) {
  const parts: { readonly shown: string; readonly mark?: Mark }[] = [];
  let upTo = 0;
  for (const mark of marks) {
    parts.push(
      { shown: printable(text.slice(upTo, mark.from)) },
      { shown: printable(text.slice(mark.from, mark.to)), mark },
    );
    upTo = mark.to;
  }
  parts.push({ shown: printable(text.slice(upTo)) });
  return parts.map(({ shown }) => shown).join('') === printable(text) ? parts : null;
}

/**
 * A request with the evidence of its signals marked where it stands in the text, and above it a list that says the same in words. The marks change
 * no letter of the text: what nobody sees, and what passes for another letter, is shown as without them.
 */
export function SignalsIn({
  of,
  most,
  signals: all,
  label,
}: {
  readonly of: Json;
  readonly most: number;
  readonly signals: readonly Signal[];
  readonly label: string;
}) {
  const signals = all.slice(0, MOST_SIGNALS);
  const { text, ranges } = rangesOf(of, most, signals);
  const parts = partsOf(text, marksOf(ranges));
  const marked = new Set(parts?.flatMap(({ mark }) => mark?.of ?? []));
  return (
    <>
      {signals.length > 0 && (
        <>
          <h3 id="signals">What speaks of its text</h3>
          <ol aria-labelledby="signals">
            {signals.map(({ says }, index) => (
              <li key={index}>
                {says}:{' '}
                {marked.has(index + 1) ? (
                  <InText signal={index + 1} parts={parts ?? []} />
                ) : (
                  'not marked in the text that is shown here'
                )}
              </li>
            ))}
          </ol>
          {all.length > signals.length && (
            <p class="notice">
              And {all.length - signals.length} more of its values, which are not marked and not named here.
            </p>
          )}
        </>
      )}
      <pre class="foreign" tabIndex={0} aria-label={oneLine(label)}>
        {parts === null
          ? printable(text)
          : parts.map(({ shown, mark }) =>
              mark ? (
                <mark key={mark.from} id={idOf(mark)}>
                  <span class="vh">[evidence of {mark.of.join(', ')}: </span>
                  {shown}
                  <span class="vh"> end of evidence]</span>
                </mark>
              ) : (
                shown
              ),
            )}
      </pre>
    </>
  );
}

const idOf = ({ of }: Mark): string => `evidence-${of[0]}`;

const InText = ({
  signal,
  parts,
}: {
  readonly signal: number;
  readonly parts: readonly { readonly mark?: Mark }[];
}) => {
  const mark = parts.find(({ mark: one }) => one?.of.includes(signal))?.mark;
  return mark ? <a href={`#${idOf(mark)}`}>marked in the request</a> : null;
};
