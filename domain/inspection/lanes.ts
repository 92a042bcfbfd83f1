import type { IntentCategory } from '../../contracts/inspection.js';
import type { JsonObject } from '../../contracts/json.js';
import type { InspectedTexts } from './texts.js';

/** What every lane sees: the request as data and as plain text, but never another lane's result. */
export interface LaneInput {
  readonly method: string;
  /** `params.name` of a tool call; the method for anything else. */
  readonly tool: string;
  readonly params: JsonObject;
  readonly texts: InspectedTexts;
  /** What a model may see of it; only where lanes ask models. */
  readonly shown?: Shown;
}

/** A request without secrets and personal data, as far as rules find them. */
export interface Shown {
  readonly method: string;
  readonly tool: string;
  readonly params: JsonObject;
  /** Whose budget pays for the models. */
  readonly tenant: string | null;
}

/** What a lane's answer cost in millionths of a dollar, and which model gave it; neither where rules alone answered. */
export interface Spent {
  readonly costMicros?: number;
  /** `alias:model`. */
  readonly answeredBy?: string;
}

/** A recent call, by its shape only. */
export interface PriorCall {
  readonly method: string;
  readonly tool: string;
}

export interface IntentSignal extends Spent {
  readonly authorized: boolean;
  readonly category: IntentCategory;
  readonly reason: string;
  /** Classes of what may be meant and may not, for a person to read; only with `authorized`. */
  readonly suspicions?: readonly string[];
}
/** `found` names classes of findings, never the text that matched. */
export interface Detection extends Spent {
  readonly detected: boolean;
  readonly confidence: number;
  readonly found: readonly string[];
  /** Nothing that refuses the call, and enough for a person to read it. */
  readonly suspicions?: readonly string[];
}

type MaybePromise<T> = T | Promise<T>;

/** Sees the persona's own text and the request, but not the other signals. If it throws, there is no verdict (503). */
export interface IntentClassifier {
  readonly model: string;
  /** Who is asked about far-reaching calls, where that is somebody else. */
  readonly deepModel?: string;
  classify(input: LaneInput & { readonly persona: string | null }): MaybePromise<IntentSignal>;
}
/** Sees the request and the shapes of recent calls. If it throws, the deterministic detector answers instead (`degraded`). */
export interface InjectionDetector {
  readonly model: string;
  detect(input: LaneInput & { readonly prior: readonly PriorCall[] }): MaybePromise<Detection>;
}
/** Judges one request by itself. If it throws, the deterministic detector answers instead. */
export interface ContentDetector {
  readonly model: string;
  detect(input: LaneInput): MaybePromise<Detection>;
}
/**
 * Turns a call into a vector. Provider, model and dimensions must equal those stored with a persona; otherwise vectors cannot be compared.
 */
export interface EmbeddingProvider {
  readonly provider: string;
  readonly model: string;
  readonly dimensions: number;
  embed(call: {
    readonly method: string;
    readonly tool: string;
    readonly params: JsonObject;
  }): MaybePromise<readonly number[]>;
}

/**
 * The inspectors behind one Brain. They are independent of each other and may use models; the deterministic ones need no network.
 * `deterministic` says that the same request always gets the same verdict, which only rules can promise (`evidence.mock_mode`).
 */
export interface InspectionProvider {
  readonly deterministic: boolean;
  readonly classifier: IntentClassifier;
  readonly injection: InjectionDetector;
  readonly embedding: EmbeddingProvider;
  readonly maliciousCode: ContentDetector;
  readonly compromisedPackage: ContentDetector;
  /** SHA-256 of each system prompt, by lane; empty without models. */
  readonly promptSha256: Readonly<Record<string, string>>;
  /** SHA-256 of the file that names the models. */
  readonly routingSha256?: string;
  /**
   * Takes out what no model may see. If it throws, nothing is shown to any model, and the rules answer in every lane
   * (`degraded`: pii_masking).
   */
  readonly mask?: ShowToModels;
}

export interface ShowToModels {
  /** Names the rules by which it masks. */
  readonly model: string;
  show(request: Shown): Shown;
}

export const nothingFound: Detection = { detected: false, confidence: 0, found: [] };
