import { isTokenCount, type ModelClient, type Usage } from '../../domain/models/port.js';
import { type Endpoint, fetchTo, keyNow, oneExchange, optionsOf, thrownBy, unusableWith } from './exchange.js';

export interface OpenAiOptions extends Endpoint {
  /** The key as it is now; a server without one gets no authorization at all. */
  readonly key?: () => string;
}

/**
 * OpenAI's chat completions, and every endpoint that speaks them. One call is one request: nothing is tried again. The answer is asked for in
 * a strict schema; one that was cut off, refused or is empty is a failure.
 */
export async function openAiClient({
  key,
  ...endpoint
}: OpenAiOptions): Promise<ModelClient & { close(): Promise<void> }> {
  const { OpenAI } = await import('openai');
  const guarded = fetchTo(endpoint);
  return {
    async ask({ model, system, data, schema, maxOutputTokens, signal }) {
      const exchange = oneExchange(guarded, { withoutKey: key === undefined });
      // All that the package would otherwise take from the environment is said here.
      const client = new OpenAI({
        apiKey: key ? keyNow(key) : 'none',
        adminAPIKey: null,
        organization: null,
        project: null,
        webhookSecret: null,
        ...optionsOf(endpoint, exchange),
      });
      try {
        const said = await client.chat.completions.create(
          {
            model,
            messages: [
              { role: 'system', content: system },
              { role: 'user', content: data },
            ],
            response_format: {
              type: 'json_schema',
              json_schema: { name: 'verdict', strict: true, schema: { ...schema } },
            },
            // Servers of one's own know the older name alone.
            ...(key === undefined
              ? { max_tokens: maxOutputTokens, temperature: 0 }
              : { max_completion_tokens: maxOutputTokens }),
          },
          { signal },
        );
        return replyOf(said);
      } catch (error) {
        throw thrownBy(error, exchange);
      }
    },
    close: () => guarded.close(),
  };
}

/** Whatever came as JSON; nothing about its form is certain. */
function replyOf(said: unknown): { text: string; usage: Usage | null } {
  const { choices, usage: counted } = Object(said) as { choices?: unknown; usage?: unknown };
  const usage = usageOf(counted);
  const [choice, second] = Array.isArray(choices) ? (choices as unknown[]) : [];
  const { message, finish_reason } = Object(choice) as { message?: unknown; finish_reason?: unknown };
  const { content, refusal } = Object(message) as { content?: unknown; refusal?: unknown };
  const unusable = unusableWith(usage);
  if ((typeof refusal === 'string' && refusal !== '') || finish_reason === 'content_filter') throw unusable('refused');
  if (finish_reason === 'length') throw unusable('truncated');
  if (second !== undefined || finish_reason !== 'stop' || typeof content !== 'string' || content === '')
    throw unusable('parse');
  return { text: content, usage };
}

function usageOf(counted: unknown): Usage | null {
  const { prompt_tokens, completion_tokens } = Object(counted) as {
    prompt_tokens?: unknown;
    completion_tokens?: unknown;
  };
  return isTokenCount(prompt_tokens) && isTokenCount(completion_tokens)
    ? { inputTokens: prompt_tokens, outputTokens: completion_tokens }
    : null;
}
