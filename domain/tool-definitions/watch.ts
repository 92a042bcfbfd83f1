import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../../contracts/json.js';
import type { Ledger, NewLedgerRow } from '../../contracts/ledger.js';
import { canonicalJson, sha256Hex, uuidFromDigest } from '../crypto/digest.js';
import { errorText, GateError } from '../errors.js';
import type { Log } from '../log.js';
import { fittingRow } from '../ledger/fitting-row.js';
import { oneLine } from '../printable.js';
import { CONTROL_METHODS } from '../mcp/control-methods.js';
import type { Upstream } from '../upstream/upstream.js';
import type { ResponsePolicy } from '../inspection/response-port.js';
import {
  addPage,
  digestsOf,
  driftOf,
  heldBack,
  isJudged,
  nothingSeen,
  type SeenTools,
  type ToldText,
  toldBeside,
  toldIn,
  type ToolPage,
  toolPageOf,
  withoutTools,
} from './definitions.js';
import { type DefinitionJudge, definitionJudges } from './judged.js';
import type { DefinitionScanner, PinnedTools, PinOwner, ToolPinStore } from './ports.js';
import { releasedAnswer } from './released.js';
import { MIXED, NAME_RULES } from './tool-names.js';

export interface ToolWatchOptions {
  readonly pins: ToolPinStore;
  readonly ledger: Ledger;
  /** Brain, which says what instructs a model. */
  readonly scanner: DefinitionScanner;
  /** Answers 502 instead of forwarding a list that changed or that contains instructions to a model. */
  readonly block: boolean;
  /** Leaves tools out of lists whose definition is not the pinned one, or instructs a model, until an operator accepts them. */
  readonly quarantine?: boolean;
  /** What policy wants done about what instructs a model; `null` in observe mode, where it is recorded and passes. */
  readonly responsePolicy: ResponsePolicy | null;
  /** Called when a list could not be checked. It is then forwarded, unless `block` is set. */
  readonly onFault: (error: unknown) => void;
  /** Called when Brain did not look: what is small was judged by its rules all the same, what is large is not handed on. */
  readonly onDegraded: (error: unknown) => void;
  /** Called once per list that has more pages than are collected. */
  readonly onTooLong: (owner: PinOwner, pages: number) => void;
  /** Told what was pinned as whole, and each list that differs from it. */
  readonly report?: ReportTools | undefined;
  /** How many pages of a list are put together. */
  readonly mostPages?: number;
}

/** Tells somebody what an agent sees of its tools, with the digests of their definitions. Nobody waits for it. */
export type ReportTools = (
  owner: PinOwner,
  seen: {
    readonly event: 'pinned' | 'drifted';
    readonly digests: ReadonlyMap<string, string>;
    readonly changes: readonly string[];
  },
) => void;

/** Logs what the watch cannot do, with the same messages in every edition. */
export const toolWatchLog = (logger: Log): Pick<ToolWatchOptions, 'onFault' | 'onTooLong' | 'onDegraded'> => ({
  onDegraded: (error) => logger.warn({ reason: errorText(error) }, 'Brain did not look at definitions of tools'),
  onFault: (error) => logger.error({ reason: errorText(error) }, 'a list of tools could not be compared'),
  onTooLong: ({ tenant, agent }, pages) =>
    logger.warn(
      { tenant, agent, pages },
      'a list of tools goes on beyond so many pages: what comes after is not pinned, and nothing of the list counts as gone',
    ),
});

/** Logs that pins of an older Gate were converted. */
export const pinsLog = (logger: Pick<Log, 'warn'>) => ({
  onAdopted: (lists: number) =>
    logger.warn(
      { lists },
      'pins of tools without a tag were taken over as they stand; expected at the first start of this version only',
    ),
});

/** A list in progress, page by page. */
interface Walk {
  seen: SeenTools;
  readonly from: string | null;
  next: string | null;
  pages: number;
  /** A page of it lacked the tools of an upstream that did not answer. */
  partial: boolean;
  /** Of several upstreams, those whose part of it was given, and those of which a page is missing. */
  readonly listed: Set<string>;
  readonly missing: Set<string>;
  /** Findings so far, which become one row together with those of the next pages. */
  untold: readonly NewLedgerRow[];
}

type Answer = Awaited<ReturnType<Upstream['control']>>;
type Reply = Extract<Answer, { kind: 'reply' }>;
const SILENT = { poisoned: false, rest: null } as const;

const MAX_WALKS = 1_000;
/**
 * An upstream may never end its list. This many pages are pinned and compared as one list. Later pages are checked one by one and not
 * pinned: such a list is never complete, so nothing can be said to be new or gone.
 */
const MAX_PAGES = 100;
const MAX_NAMED = 50;
const MAX_DETAIL = 100_000;

/**
 * The upstream with its tool definitions watched (docs/architecture/requests-and-answers.md#tool-definitions). The first list an agent sees
 * is pinned. Later ones are compared, all pages of a list together, and a difference is one ledger row, however often it is seen. Texts
 * that instruct a model are another row, and are marked or taken out of what an agent gets, as policy says of results. A difference is only
 * recorded, unless `block` is set. Pins, which are never replaced here, and digests are of what the upstream wrote.
 */
export function watchToolDefinitions<Watched extends Pick<Upstream, 'control'>>(
  upstream: Watched,
  options: ToolWatchOptions,
): Watched {
  const { mostPages = MAX_PAGES } = options;
  const walks = new LRUCache<string, Walk>({ max: MAX_WALKS });
  const judgeFor = definitionJudges(options);
  return {
    ...upstream,
    async control(caller, request, limits) {
      const reply = await upstream.control(caller, request, limits);
      const method = request['method'] as string;
      const judge = judgeFor(caller);
      const left = await leftOf(caller, request, reply, judge);
      if (options.responsePolicy === null || left.reply.kind !== 'reply' || !left.instructs) return left.reply;
      const { text, instructions: said } = left.reply;
      const { responsePolicy: policy, onFault } = options;
      const given = await releasedAnswer({ policy, judge, onFault }, caller, { method, text, said });
      if (given === null)
        throw new GateError(
          'tool_definition_poisoned',
          'what the upstream tells a model holds instructions that cannot be taken out of it',
        );
      return { ...left.reply, text: given };
    },
  };

  /** What blocking and quarantine leave of an answer, and whether it may hold instructions to a model. */
  async function leftOf(
    caller: PinOwner,
    request: JsonObject,
    reply: Answer,
    judge: DefinitionJudge,
  ): Promise<{ readonly reply: Answer; readonly instructs: boolean }> {
    const method = request['method'] as string;
    let poisoned: boolean;
    let instructs = false;
    let held: ReadonlySet<string> = new Set();
    let rest: Reply | null = null;
    try {
      // Failed answers are checked too, of every method: they are forwarded, and a reader may find tools in them.
      const beside =
        reply.kind === 'reply' && (await isTold(caller, await toldBeside(judge.texts, method, reply.text)));
      if (!CONTROL_METHODS.get(method)?.readByModel) poisoned = beside;
      else if (method === 'tools/list') {
        const page = reply.kind === 'reply' ? toolPageOf(reply.text) : null;
        const found = page ? await judge.tools(page.tools) : [];
        instructs = found.some((rules) => rules.length > 0);
        ({ poisoned, held } = await look(caller, request, page, found, reply.kind === 'reply' ? reply : {}));
      } else {
        ({ poisoned, rest } = reply.kind === 'reply' ? await listen(caller, method, reply, judge) : SILENT);
        // Without its entries it still holds what stands beside them.
        if (beside) rest = null;
      }
      instructs ||= poisoned || beside;
      poisoned ||= beside;
    } catch (error) {
      options.onFault(error);
      if (options.block || options.quarantine)
        throw new GateError(
          'tool_definition_poisoned',
          'what the upstream tells a model could not be compared with what was pinned',
          {
            cause: error,
          },
        );
      // What could not be recorded is judged all the same.
      return { reply, instructs: true };
    }
    // One of several upstreams does not keep the others' introductions from an agent.
    if (rest !== null && (options.block ? rest.instructions !== undefined : options.quarantine))
      return { reply: rest, instructs: false };
    if (poisoned && (options.block || (options.quarantine && method !== 'tools/list')))
      throw new GateError(
        'tool_definition_poisoned',
        'the definitions of the tools changed, hold instructions to a model or have names that mislead; the operator has to look at them and accept them',
      );
    const left = held.size > 0 && reply.kind === 'reply' ? { ...reply, text: withoutTools(reply.text, held) } : reply;
    return { reply: left, instructs };
  }

  /** Whether something other than a tool definition instructs a model; then the answer without it, where it can be left out. */
  async function listen(
    owner: PinOwner,
    method: string,
    reply: Reply,
    judge: DefinitionJudge,
  ): Promise<{ readonly poisoned: boolean; readonly rest: Reply | null }> {
    const { texts, rest } = await toldIn(judge.texts, method, reply.text, reply.instructions);
    const poisoned = await isTold(owner, texts);
    return { poisoned, rest: !poisoned || rest === null ? null : { ...reply, text: rest } };
  }

  /** Whether there is any of these texts; then there is a row of it. */
  async function isTold(owner: PinOwner, texts: readonly ToldText[]): Promise<boolean> {
    const injected: SeenTools['injected'] = new Map(
      texts.map(({ name, sha256, injected: found }) => [name, { found: new Set(found), sha256: new Set([sha256]) }]),
    );
    const row = injectionRow(owner, injected);
    if (row) await options.ledger.append([row]);
    return row !== null;
  }

  /** Whether something is wrong with what was seen of this list so far, and which tools of this page are held back. */
  async function look(
    owner: PinOwner,
    request: JsonObject,
    page: ToolPage | null,
    found: readonly (readonly string[])[],
    { partial, parts }: Pick<Reply, 'partial' | 'parts'>,
  ): Promise<{ readonly poisoned: boolean; readonly held: ReadonlySet<string> }> {
    const key = `${owner.tenant}/${owner.agent}`;
    const walk = walkOf(key, cursorOf(request));
    const known = walks.get(key);
    // That list has no further page, and a failed page may not be requested again, so append what was found now.
    if (known && known.untold.length > 0 && (known !== walk || !page)) {
      const { untold } = known;
      known.untold = [];
      await options.ledger.append(untold).catch((error: unknown) => {
        // A row that the ledger refuses is refused for good, so drop it; otherwise it would block every later list.
        if (!(error instanceof GateError && error.status < 500)) known.untold = untold;
        throw error;
      });
    }
    if (!page) return { poisoned: false, held: new Set() };
    walk.next = page.nextCursor;
    walk.pages += 1;
    walk.partial ||= partial === true;
    for (const prefix of parts?.listed ?? []) walk.listed.add(prefix);
    for (const prefix of parts?.missing ?? []) walk.missing.add(prefix);
    const within = walk.pages <= mostPages;
    if (walk.pages === mostPages + 1) options.onTooLong(owner, mostPages);
    const { seen } = walk;
    addPage(seen, page, found);
    if (walk.pages >= mostPages) walk.seen = nothingSeen();
    const ended = walk.next === null;
    const whole = ended && within && walk.from === null && !walk.partial;
    if (ended) walks.delete(key);
    else walks.set(key, walk);

    const shownNow = shownIn(seen);
    await options.pins.keep(owner.tenant, new Map(page.tools.map(({ sha256, text }) => [sha256, text])));
    if (within) await options.pins.saw(owner, shownNow, whole);
    let pinned = await options.pins.read(owner);
    // Pins that cover only description and input schema: if those are unchanged, the whole definition is pinned from now on.
    const wider = new Map(
      [...seen.digests].filter(
        ([name]) => pinned.narrow.has(name) && pinned.digests.get(name) === seen.narrow.get(name),
      ),
    );
    if (wider.size > 0) {
      await options.pins.widen(owner, wider);
      await options.ledger.append([widenedRow(owner, wider, pinned.since)]);
      pinned = await options.pins.read(owner);
    }
    if (!pinned.complete && !pinned.tampered && within) {
      // What one of several upstreams adds is judged, also while another one has never listed its tools.
      const first = pinned;
      const harmless = [...seen.digests].filter(
        ([name]) => !isJudged(first, name) && (!options.quarantine || !seen.injected.has(name)),
      );
      await options.pins.pin(owner, new Map(harmless));
      const listed = [...walk.listed].filter((prefix) => !walk.missing.has(prefix) && !first.parts.has(prefix));
      if (whole) await options.pins.complete(owner);
      else if (ended && walk.from === null && listed.length > 0) await options.pins.completeParts(owner, listed);
      // Compare a first list with the pins it just made, so that listing it again gives the same rows.
      pinned = { ...(await options.pins.read(owner)), complete: false, parts: first.parts };
      if (whole) options.report?.(owner, { event: 'pinned', digests: pinned.digests, changes: [] });
    }
    const drift = driftRow(owner, pinned, seen, whole);
    if (drift && ended) {
      const { changed, added, removed } = driftOf(pinned, seen, whole);
      options.report?.(owner, { event: 'drifted', digests: seen.digests, changes: [...changed, ...added, ...removed] });
    }
    const rows = [...(drift ? [drift] : []), ...findingRows(owner, seen.injected)];
    // One row for the whole list. When lists are blocked, no further page may be requested, so append at once.
    const tell = ended || walk.pages >= mostPages || options.block;
    walk.untold = tell ? [] : rows;
    if (tell && rows.length > 0) await options.ledger.append(rows);
    const poisoned = rows.length > 0;
    if (!options.quarantine) return { poisoned, held: new Set() };
    const held = page.tools.filter(({ name }) => heldBack(pinned, name, shownNow.get(name)) !== null);
    return { poisoned, held: new Set(held.map(({ name }) => name)) };
  }

  /** The list that this page continues. A page that was not requested in order is checked on its own. */
  function walkOf(key: string, cursor: string | null): Walk {
    const known = walks.get(key);
    if (cursor !== null && known?.next === cursor) return known;
    return {
      seen: nothingSeen(),
      from: cursor,
      next: null,
      pages: 0,
      partial: false,
      listed: new Set(),
      missing: new Set(),
      untold: [],
    };
  }
}

/** The digest of each name in a list; a name with two definitions gets a digest of its own. */
function shownIn(seen: SeenTools): Map<string, string> {
  const once = (name: string): string => {
    const digests = digestsOf(seen, name);
    return digests.length === 1 ? (digests[0] as string) : sha256Hex(digests.join(' '));
  };
  return new Map([...seen.digests.keys()].map((name) => [name, once(name)]));
}

function cursorOf({ params }: JsonObject): string | null {
  const cursor = params !== null && typeof params === 'object' && !Array.isArray(params) ? params['cursor'] : null;
  return typeof cursor === 'string' ? cursor : null;
}

function driftRow(owner: PinOwner, pinned: PinnedTools, seen: SeenTools, whole: boolean): NewLedgerRow | null {
  const { changed, added, removed } = driftOf(pinned, seen, whole);
  const count = changed.length + added.length + removed.length;
  if (count === 0) return null;
  const said = ([word, names]: readonly [string, readonly string[]]) =>
    names.length === 0 ? [] : [`${word} ${shown(names)}`];
  const digests = [...changed, ...added, ...removed].map((name) => {
    const known = pinned.digests.get(name);
    const found = digestsOf(seen, name);
    return [name, { ...(known !== undefined && { pinned: known }), ...(found.length > 0 && { seen: found }) }] as const;
  });
  return supplyChainRow(
    owner,
    'tool_schema_poisoned',
    (
      [
        ['changed', changed],
        ['added', added],
        ['removed', removed],
      ] as const
    )
      .flatMap(said)
      .join('; ') +
      (pinned.tampered ? '; the pins in the store are not what Gate wrote: let them go, and look why' : ''),
    { changed: [...changed], added: [...added], removed: [...removed] },
    { sha256: Object.fromEntries(digests), pinned_since: pinned.since, ...(pinned.tampered && { tampered: true }) },
  );
}

/** Records which whole definitions replaced the partial pins of an older Gate. */
function widenedRow(
  { tenant, agent }: PinOwner,
  digests: ReadonlyMap<string, string>,
  since: string | null,
): NewLedgerRow {
  const whole = { widened: Object.fromEntries(digests), pinned_since: since };
  const digest = sha256Hex(canonicalJson(whole));
  const id = uuidFromDigest('gate.tool-definitions', tenant, agent, 'widened', digest);
  return {
    id,
    agent_id: agent,
    method: 'tool_definition.accepted',
    event_kind: 'tool_definition.accepted',
    intent_category: 'Privileged Action',
    authorized: true,
    reasoning: `${digests.size} tools whose description and input schema are as pinned are pinned whole`,
    policy_decision: {
      decided_via: 'upgrade',
      detail_sha256: digest,
      ...(Buffer.byteLength(canonicalJson(whole)) < MAX_DETAIL && whole),
    },
    state_namespace: 'operator',
    correlation_id: id,
    tenant,
  };
}

/** What was found of an agent's tools beside differences, by its kind: what instructs a model, and names that mislead. */
const findingRows = (owner: PinOwner, found: SeenTools['injected']): NewLedgerRow[] =>
  [injectionRow(owner, found), namesRow(owner, found)].filter((row) => row !== null);

function injectionRow(owner: PinOwner, found: SeenTools['injected']): NewLedgerRow | null {
  const injected = foundBy(found, (rule) => !NAME_RULES.has(rule));
  if (injected.size === 0) return null;
  return supplyChainRow(
    owner,
    'tool_definition_injection',
    `instructions to a model in ${shown([...injected.keys()])}`,
    ...detailOf(injected),
  );
}

/** A name shows letters that are not what they look like as escapes, or the row would read like one about the other tool. */
function namesRow(owner: PinOwner, found: SeenTools['injected']): NewLedgerRow | null {
  const named = foundBy(found, (rule) => NAME_RULES.has(rule));
  if (named.size === 0) return null;
  const said = [...named].map(([name, { found: rules, like }]) => {
    if (like !== undefined) return `${oneLine(name)} reads like ${oneLine(like)}`;
    return rules.has(MIXED)
      ? `${oneLine(name)} mixes alphabets that look alike`
      : `${oneLine(name)} is a name that stores change`;
  });
  return supplyChainRow(owner, 'tool_name_misleading', `misleading names: ${shown(said)}`, ...detailOf(named));
}

/** The findings of some rules, by name, sorted. */
const foundBy = (found: SeenTools['injected'], isOfKind: (rule: string) => boolean): SeenTools['injected'] =>
  new Map(
    [...found]
      .map(([name, finding]) => [name, { ...finding, found: new Set([...finding.found].filter(isOfKind)) }] as const)
      .filter(([, { found: rules }]) => rules.size > 0)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );

function detailOf(found: SeenTools['injected']): [names: JsonObject, definitions: JsonObject] {
  const sorted = (of: 'found' | 'sha256') =>
    Object.fromEntries([...found].map(([name, finding]) => [name, [...finding[of]].toSorted()]));
  return [{ found: sorted('found') }, { sha256: sorted('sha256') }];
}

/**
 * The same finding about the same agent's tools always gives the same row. The pinned and seen definitions are part of the finding, so
 * another change of the same tool is another row, and so is the same change after the operator accepted the present definition.
 */
function supplyChainRow(
  { tenant, agent }: PinOwner,
  signal: 'tool_schema_poisoned' | 'tool_definition_injection' | 'tool_name_misleading',
  reasoning: string,
  names: JsonObject,
  definitions: JsonObject,
): NewLedgerRow {
  const whole = { ...names, ...definitions };
  const digest = sha256Hex(canonicalJson(whole));
  const id = uuidFromDigest('gate.tool-definitions', tenant, agent, signal, digest);
  // A list of thousands must not exceed the size of a row; the digest still distinguishes two such lists.
  const detail = [whole, names].find((one) => Buffer.byteLength(canonicalJson(one)) < MAX_DETAIL) ?? {};
  return fittingRow({
    id,
    agent_id: agent,
    method: 'tool_definition.drifted',
    event_kind: 'tool_definition.drifted',
    intent_category: signal === 'tool_definition_injection' ? 'Meta-Reasoning' : 'Privileged Action',
    authorized: false,
    reasoning,
    policy_decision: { signal, detail_sha256: digest, ...detail },
    state_namespace: 'operator',
    correlation_id: id,
    tenant,
    signal,
  });
}

const shown = (names: readonly string[]): string =>
  `${names.slice(0, MAX_NAMED).join(', ')}${names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''}`;
