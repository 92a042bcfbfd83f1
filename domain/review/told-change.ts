import type { CallRecord } from '../call/record.js';
import { membersOf, objectText, withoutMembers } from '../mcp/reply.js';

/** Where an answer of a tool says that an approver changed the call (`_meta` of the Model Context Protocol). */
const CHANGED_META = 'gate/modified';

/**
 * The answer of a changed call, with what was changed in its `_meta`, so that its caller does not take it for the answer to what it asked.
 * An answer that has no place for it says nothing; the header `X-Gate-Modified` says it in any case. A tool's own claim is taken out. What
 * else the tool wrote stays its own text, because a number with more digits than a double holds would be another one if it was parsed.
 */
export function toldOfChange(text: string, { decision }: CallRecord): string {
  const signed = decision?.signed;
  const answer = withoutClaim(text);
  if (!signed?.modification) return answer;
  const told = JSON.stringify({
    by: signed.principal.subject,
    paths: signed.modification.diff.replacements.map(({ path }) => path),
    original_payload_digest: signed.action_digest,
    executed_payload_digest: signed.modification.reviewed_digest,
  });
  const members = membersOf(answer, 'last');
  const [result, error] = [objectIn(members, 'result'), objectIn(members, 'error')];
  if (members && result) {
    const meta = written(objectIn(result, '_meta'), CHANGED_META, told);
    return written(members, 'result', written(result, '_meta', meta));
  }
  if (!members || !error || (error.has('data') && !objectIn(error, 'data'))) return answer;
  const data = written(objectIn(error, 'data'), CHANGED_META, told);
  return written(members, 'error', written(error, 'data', data));
}

type Members = ReadonlyMap<string, string>;

const objectIn = (members: Members | null, name: string): Members | null => membersOf(members?.get(name) ?? '', 'last');

/** The object's text with this member, in its place where it is there already. */
const written = (members: Members | null, name: string, value: string): string =>
  objectText(new Map(members ?? []).set(name, value));

/** The answer without the claim that somebody changed the call, wherever it stands: only Gate says that. */
export const withoutClaim = (text: string): string => withoutMembers(text, CHANGED_META);
