import type { JsonObject } from '../../contracts/json.js';
import { GateError, isInDoubt } from '../errors.js';
import { slackText } from './escaping.js';

/** Where Slack takes answers to clicks: its own hosts, also the one for governments. */
const SLACK_HOSTS: ReadonlySet<string> = new Set(['hooks.slack.com', 'hooks.slack-gov.com']);

/**
 * The address that a signed click names for its answer (https://docs.slack.dev/interactivity/handling-user-interaction), or `null` where it is
 * neither Slack's, by https, nor at the place where the settings say that Slack's API is.
 */
export function slackAnswerUrl(named: string | undefined, apiUrl: string): string | null {
  if (named === undefined || !URL.canParse(named)) return null;
  const url = new URL(named);
  const isSlack = url.protocol === 'https:' && SLACK_HOSTS.has(url.host);
  const isThere = url.origin === new URL(apiUrl).origin;
  return (isSlack || isThere) && url.username === '' && url.password === '' ? url.href : null;
}

/** What became of a click that did not do what it says, for the person who clicked alone: whether it decided is not known where the answer was lost. */
export function slackRefusal(error: unknown): JsonObject {
  const refusal = error instanceof GateError ? error : new GateError('internal_error');
  const isKnown = error instanceof GateError && !isInDoubt(refusal);
  const told = isKnown
    ? `this click decided nothing. ${slackText(whyNot(refusal))}`
    : 'it is not known whether this click decided. Look at the call before you click again.';
  const text = `Gate: ${told} (${refusal.code})`;
  return {
    response_type: 'ephemeral',
    replace_original: false,
    text,
    blocks: [{ type: 'section', text: { type: 'plain_text', text, emoji: false } }],
  };
}

function whyNot({ message, fields }: GateError): string {
  const { decided_by: by, decided_at: at, status, link_code: given } = fields;
  const stands =
    typeof by === 'string' && typeof status === 'string' && typeof at === 'string'
      ? `It is ${status}, by ${by} at ${at}. `
      : '';
  return `${stands}${message}${typeof given === 'string' ? ` The code: ${given}` : ''}`;
}
