import type { JsonObject } from '../../contracts/json.js';
import type { Notice } from '../../contracts/notification.js';
import { REHEARSAL, REHEARSAL_TOLD } from '../review/rehearsal.js';
import { slackText } from './escaping.js';
import { linesOf, type Places } from './lines.js';
import { titleOf } from './notice.js';

/** Longest text of a header block. */
const HEADER = 150;
const plain = (text: string): JsonObject => ({ type: 'plain_text', text, emoji: false });
const button = (text: string, more: JsonObject): JsonObject => ({ type: 'button', text: plain(text), ...more });

/** A decision is asked about once, with what it does. */
const asked = (title: string, text: string, confirm: string): JsonObject => ({
  title: plain(title),
  text: plain(text),
  confirm: plain(confirm),
  deny: plain('Cancel'),
});
const CONFIRMED = {
  approve: asked(
    'Approve this call?',
    'It runs with the arguments that the agent sent. This card does not show them.',
    'Approve',
  ),
  deny: asked('Deny this call?', 'It does not run, and its agent is told so.', 'Deny'),
};
const CONFIRMED_REHEARSAL = {
  approve: asked(`Approve this ${REHEARSAL}?`, REHEARSAL_TOLD, 'Approve'),
  deny: asked(`Deny this ${REHEARSAL}?`, REHEARSAL_TOLD, 'Deny'),
};

/**
 * A message in Slack's blocks. Every text is of the type that has no markup, and the line that a notification shows (`text`) is Gate's own.
 * `decides` is whether clicks come back to Gate; otherwise buttons lead to the console.
 */
export function slackCard(notice: Notice, places: Places, decides: boolean): JsonObject {
  return blocksOf(notice, notice.phase === 'resolve' || notice.test ? [] : decisions(notice, places, decides));
}

/**
 * What answers the card of a row at an escalation, since nobody is told of a card that changes. It stays as it is when the row is decided, so it
 * has no button that decides, and says where that is told.
 */
export const slackReply = (notice: Notice, { open }: Places): JsonObject =>
  blocksOf(notice, open === undefined ? [] : [openButton(open)], [
    { type: 'section', text: plain('The card that this answers says how it stands now.') },
  ]);

function blocksOf(notice: Notice, actions: readonly JsonObject[], more: readonly JsonObject[] = []): JsonObject {
  const title = titleOf(notice);
  return {
    text: `Gate: ${title}`,
    blocks: [
      { type: 'header', text: plain(title.slice(0, HEADER)) },
      ...linesOf(notice).map(([name, text]) => ({ type: 'section', text: plain(`${name}: ${slackText(text)}`) })),
      ...more,
      ...(actions.length > 0 ? [{ type: 'actions', elements: [...actions] }] : []),
    ],
  };
}

const openButton = (url: string): JsonObject => button('Open in console', { action_id: 'console-open', url });

function decisions(
  { pending_id, action_digest, rehearsal }: Notice,
  { open, approve, deny }: Places,
  decides: boolean,
): JsonObject[] {
  const confirmed = rehearsal ? CONFIRMED_REHEARSAL : CONFIRMED;
  const call = action_digest === undefined ? pending_id : `${pending_id}:${action_digest}`;
  return [
    ...(decides
      ? [
          button('Approve', { action_id: `approve:${call}`, style: 'primary', confirm: confirmed.approve }),
          button('Deny', { action_id: `deny:${call}`, style: 'danger', confirm: confirmed.deny }),
        ]
      : []),
    ...(!decides && approve !== undefined && deny !== undefined
      ? [
          button('Approve in console', { action_id: 'console-approve', url: approve }),
          button('Deny in console', { action_id: 'console-deny', url: deny }),
        ]
      : []),
    ...(open === undefined ? [] : [openButton(open)]),
  ];
}
