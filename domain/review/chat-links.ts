import type { Chat, ChatLink } from '../../contracts/chat-link.js';
import { GateError } from '../errors.js';

/** A link with the tenant for which its person decides. */
export interface TenantLink extends ChatLink {
  readonly tenant: string;
}

/** Which accounts of chats are whose, and which signed clicks were accepted. Throws `store_unavailable`. */
export interface ChatLinkStore {
  get(tenant: string, sub: string): Promise<ChatLink | null>;
  /**
   * Throws `channel_already_linked` when the account is somebody else's of this tenant. With `code`, the digest of a link code, that is used up
   * by the link, or by this refusal, together with it; throws `link_code_invalid` when it was used before.
   */
  upsert(
    tenant: string,
    link: {
      readonly oidc_sub: string;
      readonly slack_user_id?: string | undefined;
      readonly teams_user_id?: string | undefined;
    },
    code?: string,
  ): Promise<ChatLink>;
  /** False when there was none. The link itself goes with its last account; one that Gate did not write goes whole, whatever it names. */
  clear(tenant: string, sub: string, chat: Chat): Promise<boolean>;
  /** Of every tenant. A link that Gate did not write is nobody's. */
  linksOf(chat: Chat, userId: string): Promise<TenantLink[]>;
  /** Notes that the person clicked just now. */
  verified(link: TenantLink): Promise<void>;
  /** True once for each click, also for several processes and after a restart. */
  accept(digest: string): Promise<boolean>;
  /** The click came to nothing and may come again. */
  release(digest: string): Promise<void>;
}

/** Acts for the click that was accepted under this digest. Where that failed here, it may come again; after a refusal it may not. */
export async function unlessFailed<Answer>(
  links: Pick<ChatLinkStore, 'release'>,
  digest: string,
  act: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await act();
  } catch (error) {
    // A store that is away takes nothing back either; what failed first is told.
    if (!(error instanceof GateError) || error.status >= 500) await links.release(digest).catch(() => undefined);
    throw error;
  }
}
