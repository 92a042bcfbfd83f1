import type { Json, JsonObject } from '../../contracts/json.js';
import type { EntryScan } from '../../contracts/definition-scan.js';
import type { ResponseDecision, ResponseEntity } from '../../contracts/response-scan.js';
import { CONTROL_METHODS } from '../mcp/control-methods.js';
import { exactly } from '../mcp/exact-numbers.js';
import { itemsOf, membersOf, objectText } from '../mcp/reply.js';
import { togetherSaid, type UpstreamInstructions } from '../upstream/upstream.js';
import type { ResponsePolicy } from '../inspection/response-port.js';
import { type Release, released } from '../inspection/response-release.js';
import { listIn, withInstructions } from './definitions.js';
import type { DefinitionJudge } from './judged.js';
import type { PinOwner } from './ports.js';

/** The lists whose entries are called by their names: there a name is no text. */
const NAME_IDENTIFIES: ReadonlySet<string> = new Set(['tools/list', 'prompts/list']);

/** An upstream that lists more poisoned tools than policy is asked about has the others left out. */
const MOST_ASKED = 100;
/** Policy knows no longer names (contracts/response-scan.ts). */
const LONGEST_ASKED = 256;

/** Who says where something is, and what is done about it. */
interface By {
  readonly ask: Ask;
  readonly judge: Pick<DefinitionJudge, 'places'>;
}
type Ask = (toolType: string, entities: readonly ResponseEntity[]) => Promise<ResponseDecision | null>;

/**
 * What an upstream tells a model, as policy lets it out: what instructs a model is marked, taken out, or its entry left out, with the same
 * marks and by the same policy as in results (docs/architecture/responses.md); every other entry stays as the upstream wrote it. A name or an
 * address has no room for a mark, so an entry that instructs in one is left out. `null` where nothing of the answer may be given.
 */
export async function releasedAnswer(
  {
    policy,
    judge,
    onFault,
  }: {
    readonly policy: ResponsePolicy;
    readonly judge: Pick<DefinitionJudge, 'places'>;
    readonly onFault: (error: unknown) => void;
  },
  { tenant, agent }: PinOwner,
  { method, text, said = [] }: { method: string; text: string; said?: readonly UpstreamInstructions[] | undefined },
): Promise<string | null> {
  const known = new Map<string, ResponseDecision>();
  let asked = 0;
  const ask: Ask = async (toolType, entities) => {
    const question = JSON.stringify([toolType, entities]);
    const decision = known.get(question);
    if (decision || asked >= MOST_ASKED) return decision ?? null;
    asked += 1;
    try {
      const answer = await policy.judgeResponse({
        entities: [...entities],
        tool_type: toolType,
        method,
        agent_id: agent,
        tenant,
      });
      known.set(question, answer);
      return answer;
    } catch (error) {
      // Whoever waits for a list does not wait for as many limits as it has entries.
      asked = MOST_ASKED;
      onFault(error);
      return null;
    }
  };
  const by: By = { ask, judge };
  const members = membersOf(text, 'last');
  if (!members) return null;
  const error = members.get('error');
  const told = error?.startsWith('{') ? await releasedError(by, method, error) : error;
  const left = told === undefined || told === error ? text : objectText(new Map(members).set('error', told));
  const result = members.get('result');
  if (!result?.startsWith('{')) return left;
  const list = listIn(method);
  if (list !== undefined) return releasedList(by, method, list, left);
  return CONTROL_METHODS.get(method)?.readByModel ? releasedWhole(by, method, left, said) : left;
}

/** A failure as policy lets it out; where nothing of its words may be given, what kind it was is. */
async function releasedError(by: By, method: string, error: string): Promise<string> {
  const out = await releasedText(by, method, error);
  if (out !== null) return out;
  const code = membersOf(error, 'last')?.get('code') ?? '';
  return objectText([
    ['code', /^-?\d{1,9}$/.test(code) ? code : '-32603'],
    ['message', JSON.stringify('the upstream refused; its words hold instructions and are withheld')],
  ]);
}

async function releasedList(by: By, method: string, list: string, text: string): Promise<string | null> {
  const members = membersOf(text, 'last');
  const parts = new Map(membersOf(members?.get('result') ?? '', 'last') ?? []);
  const listed = parts.get(list) ?? '';
  const items = itemsOf(listed);
  if (!members || (!items && listed.startsWith('['))) return null;
  const beside = [...parts].filter(([name]) => name !== 'nextCursor' && !(items && name === list));
  const entry = objectText(beside);
  const given = beside.length === 0 ? entry : await releasedText(by, method, entry);
  if (given !== entry) {
    // What stands beside the entries of a list has no meaning that a client needs.
    const bare = [...parts].filter(([name]) => name === 'nextCursor' || name === list);
    if (!items) return null;
    return releasedList(by, method, list, objectText(new Map(members).set('result', objectText(bare))));
  }
  if (!items) return text;
  const isTools = method === 'tools/list';
  const nameIdentifies = NAME_IDENTIFIES.has(method);
  const scans = await by.judge.places(items.map((item) => ({ text: item, nameIdentifies })));
  const kept: string[] = [];
  for (const [at, item] of items.entries()) {
    const { name } = objectOf(valueIn(item));
    const ofTool = isTools && typeof name === 'string' && name.length <= LONGEST_ASKED;
    const out = await releasedEntry(by.ask, ofTool ? name : method, item, scans[at] ?? null);
    if (out !== null) kept.push(out);
  }
  if (kept.length === items.length && kept.every((item, index) => item === items[index])) return text;
  return objectText(new Map(members).set('result', objectText(parts.set(list, `[${kept.join(',')}]`))));
}

/** An answer that is no list. Of several upstreams one that instructs does not take the others' introductions with it. */
async function releasedWhole(
  by: By,
  method: string,
  text: string,
  said: readonly UpstreamInstructions[],
): Promise<string | null> {
  const clean: string[] = [];
  const given: string[] = [];
  const entries = said.map((one) => objectText([['instructions', JSON.stringify(one.text)]]));
  const scans = await by.judge.places(entries.map(asText));
  for (const [at, one] of said.entries()) {
    const entry = entries[at] as string;
    const out = await releasedEntry(by.ask, method, entry, scans[at] ?? null);
    if (out === entry) clean.push(one.text);
    if (out !== null) given.push((JSON.parse(out) as { instructions: string }).instructions);
  }
  const together = (texts: readonly string[]) => togetherSaid(texts.map((of) => ({ prefix: '', text: of })));
  const left = clean.length === said.length ? text : withInstructions(text, together(clean));
  const members = new Map(membersOf(left, 'last') ?? []);
  const result = members.get('result') ?? '{}';
  const out = await releasedText(by, method, result);
  if (out === null) return null;
  if (out !== result) return objectText(members.set('result', out));
  return left === text ? text : withInstructions(text, together(given));
}

const asText = (text: string) => ({ text, nameIdentifies: false });
/** What is no entry of a list, as policy lets it out. */
async function releasedText({ ask, judge }: By, method: string, text: string): Promise<string | null> {
  const [scan = null] = await judge.places([asText(text)]);
  return releasedEntry(ask, method, text, scan);
}

/** One entry as policy lets it out; `null` where it is left out. */
async function releasedEntry(
  ask: Ask,
  toolType: string,
  entry: string,
  scan: EntryScan | null,
): Promise<string | null> {
  if (scan === null) return entry;
  const decision = await ask(toolType, scan.detected_entities);
  if (decision === null) return null;
  // In brackets the members of the entry are not those of a JSON-RPC message.
  const spans = scan.spans.map((span) => ({ ...span, start: span.start + 1, end: span.end + 1 }));
  const release: Release = released(`[${entry}]`, { ...scan, spans }, decision);
  if (release.kind === 'as_is') return entry;
  return release.kind === 'withheld' ? null : release.text.slice(1, -1);
}

const valueIn = (text: string): Json => JSON.parse(exactly(text)) as Json;
const objectOf = (value: Json): JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
