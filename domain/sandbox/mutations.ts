import { GRAPHQL_TOKEN } from '../policy/graphql.js';
import { REMOVES_IN_NAME } from '../shell/removal-words.js';
import { toolTokens } from '../tool-shape.js';
import { words } from '../text.js';

const removes = (word: string | undefined): boolean => word !== undefined && REMOVES_IN_NAME.has(word);
/** `v1deleteUser`, `delete2users`. */
const wordsIn = (name: string): readonly string[] => toolTokens(name.replaceAll(/\d+/g, ' '));
/** Any word of it: `bulkDeleteUsers`. */
const saysRemoval = (name: string): boolean => wordsIn(name).some(removes);
/** What they have in braces is their answer, also where nothing is given to them; `update { admin { deleteAll } }` names no act yet. */
const DOES =
  /^(?:create|add|update|set|edit|change|insert|upsert|save|put|patch|make|new|register|enable|disable|merge|close|get|list|send|submit|mark|move)(?=[^a-z])/;
/** What is said of these in an answer, and answers nothing, is what somebody may do: `permissions { create delete }`. */
const ALLOWS = words('can may permission permissions capability capabilities ability abilities rights access allowed');

/** What the names of a pair of braces are: what a mutation does, what one of its namespaces does, or what it answers. */
type Kind = 'does' | 'space' | 'answers';
interface Level {
  readonly kind: Kind;
  readonly inMutation: boolean;
  /** The name of the fragment it stands in, or of none. */
  readonly of: string;
  /** The field in front of the braces. */
  readonly parent: string;
}
interface Field {
  readonly name: string;
  isGiven: boolean;
}

/**
 * What a GraphQL document has a mutation do that removes: a field of the mutation itself, or of its namespaces (`user { delete(id: 1) }`), also by
 * a fragment. Its aliases, its arguments and what it is to answer say nothing. Null where there is none. Takes linear time.
 */
export function removingField(document: string): string | null {
  /** By the fragment they stand in; those of mutations under no name. */
  const found = new Map<string, string>();
  const note = (of: string, name: string): void => {
    if (!found.has(of)) found.set(of, name);
  };
  const spread = new Map<string, string[]>();
  const follow = (from: string, to: string): void => {
    const others = spread.get(from);
    if (others) others.push(to);
    else spread.set(from, [to]);
  };
  const open: Level[] = [];
  let head: string[] = [];
  let field: Field | null = null;
  let [parens, before, beforeThat] = [0, '', ''];
  let isInline = false;
  const end = (hasAnswer = false): void => {
    const level = open.at(-1);
    if (field !== null && level?.inMutation === true) {
      const { name } = field as Field;
      const isRemoval = removesBy(field, level, hasAnswer);
      if (isRemoval[level.kind]) note(level.of, name);
      if (isRemoval.answers && level.of !== '') note(inAnswer(level.of), name);
    }
    field = null;
  };
  for (const [token] of document.matchAll(GRAPHQL_TOKEN)) {
    if (token.startsWith('#')) continue;
    const level = open.at(-1);
    if (token === '(') {
      // Those of a directive are not the field's.
      if (parens === 0 && field !== null && beforeThat !== '@') (field as Field).isGiven = true;
      parens += 1;
    } else if (token === ')') parens = Math.max(0, parens - 1);
    else if (parens === 0 && token === '{') {
      if (level === undefined) open.push(levelOf(head));
      else if (isInline || before === '.') {
        end();
        open.push(level);
      } else {
        const { name, isGiven } = field ?? { name: '', isGiven: true };
        end(true);
        const kind = isGiven || level.kind === 'answers' || DOES.test(name) ? 'answers' : 'space';
        open.push({ of: level.of, inMutation: level.inMutation, parent: name, kind });
      }
      head = [];
      isInline = false;
    } else if (parens === 0 && token === '}') {
      end();
      open.pop();
      head = [];
    } else if (parens === 0 && /^\w/.test(token)) {
      if (level === undefined) head.push(token);
      else if (before === '@' || (before === 'on' && isInline)) {
        // The name of a directive, or of the type of a fragment.
      } else if (before === '.') {
        end();
        if (token === 'on') isInline = true;
        else if (level.inMutation) {
          const other = `...${token}`;
          follow(level.of, level.kind === 'answers' ? inAnswer(other) : other);
          if (level.of !== '') follow(inAnswer(level.of), inAnswer(other));
        }
      } else {
        // What stands before a colon is an alias.
        if (before !== ':') end();
        field = { name: token, isGiven: false };
      }
    } else if (parens === 0 && token === '@' && before === '.') {
      end();
      isInline = true;
    }
    [beforeThat, before] = [before, token];
  }
  end();
  const reached = new Set(['']);
  for (const one of reached) for (const other of spread.get(one) ?? []) reached.add(other);
  return [...found].find(([one]) => reached.has(one))?.[1] ?? null;
}

/** What a fragment holds says something else where it is spread in an answer. */
const inAnswer = (fragment: string): string => `?${fragment}`;

/**
 * Whether a field is a removal, by what its braces are. Of an answer a name may say anything; but what is given an argument of its own there is
 * called, and so is `user(id: 1) { delete { ok } }`.
 */
const removesBy = (
  { name, isGiven }: Field,
  { parent }: Level,
  hasAnswer: boolean,
): Readonly<Record<Kind, boolean>> => {
  const says = saysRemoval(name);
  const isAllowance = !hasAnswer && ALLOWS.has(toolTokens(parent).at(-1) ?? '');
  return {
    does: says,
    space: isGiven ? says : removes(wordsIn(name)[0]),
    answers: isGiven ? says : removes(name.toLowerCase()) && !isAllowance,
  };
};

/** By what stands before the braces: `mutation Name`, `fragment Name on Type`. */
function levelOf(head: readonly string[]): Level {
  const inMutation = head.includes('mutation');
  const fragment = head.lastIndexOf('fragment');
  // A mutation may be named `fragment`.
  if (fragment !== -1 && !inMutation) {
    const [, name = '', , type = ''] = head.slice(fragment);
    return { kind: 'does', inMutation: true, of: /mutation/i.test(type) ? '' : `...${name}`, parent: '' };
  }
  return { kind: inMutation ? 'does' : 'answers', inMutation, of: '', parent: '' };
}
