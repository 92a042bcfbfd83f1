import type { JsonObject } from '../../contracts/json.js';
import type { Notice } from '../../contracts/notification.js';
import { teamsText } from './escaping.js';
import { linesOf, type Places } from './lines.js';
import { titleOf } from './notice.js';

/** Text that is shown as it is: a text block would read Markdown. */
const run = (text: string, bold = false): JsonObject => ({
  type: 'RichTextBlock',
  inlines: [{ type: 'TextRun', text, ...(bold && { weight: 'Bolder', size: 'Medium' }) }],
});

/**
 * An adaptive card (https://adaptivecards.io). `decides` is whether what a bot passes on of a click comes back to Gate; otherwise buttons lead
 * to the console.
 */
export function teamsCard(notice: Notice, places: Places, decides: boolean): JsonObject {
  const actions = notice.phase === 'resolve' || notice.test ? [] : decisions(notice, places, decides);
  return {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    fallbackText: `Gate: ${titleOf(notice)}`,
    body: [run(titleOf(notice), true), ...linesOf(notice).map(([name, text]) => run(`${name}: ${teamsText(text)}`))],
    ...(actions.length > 0 && { actions }),
  };
}

/** The card as an incoming webhook of a channel takes it. */
export const teamsMessage = (card: JsonObject): JsonObject => ({
  type: 'message',
  attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content: card }],
});

function decisions(
  { pending_id, action_digest }: Notice,
  { open, approve, deny }: Places,
  decides: boolean,
): JsonObject[] {
  const lead = (title: string, url: string): JsonObject => ({ type: 'Action.OpenUrl', title, url });
  const click = (title: string, action: 'approve' | 'deny'): JsonObject => ({
    type: 'Action.Submit',
    title,
    data: { action, pending_id, ...(action_digest !== undefined && { action_digest }) },
  });
  return [
    ...(decides ? [click('Approve', 'approve'), click('Deny', 'deny')] : []),
    ...(!decides && approve !== undefined && deny !== undefined
      ? [lead('Approve in console', approve), lead('Deny in console', deny)]
      : []),
    ...(open === undefined ? [] : [lead('Open in console', open)]),
  ];
}
