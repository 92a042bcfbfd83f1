import type { JsonObject } from '../../contracts/json.js';
import type { TemplateFacts } from '../../contracts/policy-library.js';

export interface Template {
  readonly facts: TemplateFacts;
  readonly body: string;
  readonly body_sha256: string;
  /** The JSON Schema of its parameters. */
  readonly parameters: JsonObject | null;
}

/** The policies that ship without being in force. What cannot be read as it was built is `policy_unavailable`. */
export interface TemplateCatalogue {
  /** Sorted by name. */
  list(): Promise<readonly TemplateFacts[]>;
  /** By its name with the ending; null where there is none. */
  read(name: string): Promise<Template | null>;
  /** By its name without the ending, which is where its parameters are mounted; null where there are none. */
  parametersOf(mount: string): Promise<JsonObject | null>;
}
