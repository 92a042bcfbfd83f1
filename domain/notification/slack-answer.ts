import type { JsonObject } from '../../contracts/json.js';
import { errorText, GateError } from '../errors.js';
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

/** Why a click decided nothing, for the person who clicked alone. */
export function slackRefusal(error: unknown): JsonObject {
  const { code, fields } = error instanceof GateError ? error : new GateError('internal_error');
  const { decided_by: by, decided_at: at, status, link_code: given } = fields;
  const stands =
    typeof by === 'string' && typeof status === 'string' && typeof at === 'string'
      ? `It is ${status}, by ${by} at ${at}. `
      : '';
  const why = error instanceof GateError ? errorText(error) : new GateError(code).message;
  const text = `Gate: this click decided nothing. ${slackText(`${stands}${why}`)} ${typeof given === 'string' ? `The code: ${given} ` : ''}(${code})`;
  return {
    response_type: 'ephemeral',
    replace_original: false,
    text,
    blocks: [{ type: 'section', text: { type: 'plain_text', text, emoji: false } }],
  };
}
