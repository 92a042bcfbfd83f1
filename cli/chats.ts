import type { Command } from 'commander';
import { chat, type ChatLink, type ChatLinkRemoved, linkOwnerOf } from '../contracts/chat-link.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { type Asked, withTarget } from './operators-command.js';
import { print } from './output.js';
import { operatorTarget } from './target.js';

const CHATS = { slack: 'Slack', teams: 'Teams' } as const;

/** `gate chats`: from which accounts of chats somebody decides, and takes one away. */
export function registerChats(program: Command): void {
  const chats = program.command('chats').description('which accounts of chats decide as whom; take one away');
  withTarget(chats.command('show', { isDefault: true }), 'person')
    .description('say from which accounts somebody decides')
    .argument('<name>', 'of an operator, or as whom somebody decides (oidc:…)')
    .action(async (name: string, { json: asJson, ...given }: Asked) => {
      const link = await linked(
        hil(given).ask<ChatLink>('hil', 'GET', `/identities/${encodeURIComponent(linkOwnerOf(name))}`),
        `no account of a chat decides as ${oneLine(linkOwnerOf(name))}`,
      );
      if (asJson) return print(link);
      for (const each of chat.options) {
        const account = link[`${each}_user_id`];
        if (account !== null)
          process.stdout.write(
            `${CHATS[each]}: ${oneLine(account)}, since ${link.linked_at}, last click ${link.last_verified ?? 'never'}\n`,
          );
      }
    });

  withTarget(chats.command('unlink'), 'person')
    .description('an account decides as nobody any more; as an administrator, also that of somebody else')
    .argument('<name>', 'of an operator, or as whom somebody decides (oidc:…)')
    .argument('<chat>', chat.options.join(', '))
    .action(async (name: string, which: string, { json: asJson, ...given }: Asked) => {
      const known = chat.safeParse(which);
      if (!known.success) throw new CliError(`a chat is one of ${chat.options.join(', ')}, not ${which}`, 2);
      const removed = await linked(
        hil(given).ask<ChatLinkRemoved>('hil', 'POST', '/identities/removals', {
          oidc_sub: linkOwnerOf(name),
          chat: known.data,
        }),
        `no account of ${CHATS[known.data]} decides as ${oneLine(linkOwnerOf(name))}`,
      );
      if (asJson) return print(removed);
      process.stdout.write(
        `no account of ${CHATS[removed.chat]} decides as ${oneLine(removed.oidc_sub)} any more, by ${oneLine(removed.removed_by)}\n`,
      );
    });
}

/** Names what was not found: names are typed by hand, and may be mistyped. */
async function linked<Answer>(asked: Promise<Answer>, none: string): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    throw error instanceof CliError && error.exitCode === 4 ? new CliError(`not_found: ${none}`, 4) : error;
  }
}

function hil(given: Omit<Asked, 'json'>) {
  const target = operatorTarget(given);
  if (target.kind === 'lite') throw new CliError('nobody decides in a chat in lite', 2);
  return target;
}
