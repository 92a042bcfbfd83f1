import { isTokenCount, type ModelClient, type Usage } from '../../domain/models/port.js';
import { type Endpoint, fetchTo, keyNow, oneExchange, optionsOf, thrownBy, unusableWith } from './exchange.js';

export interface AnthropicOptions extends Endpoint {
  /** The key as it is now. */
  readonly key: () => string;
}

/**
 * Anthropic's messages. One call is one request: nothing is tried again. The answer is asked for in a strict schema; one that was cut off,
 * refused or is anything but one text is a failure.
 */
export async function anthropicClient({
  key,
  ...endpoint
}: AnthropicOptions): Promise<ModelClient & { close(): Promise<void> }> {
  const { Anthropic } = await import('@anthropic-ai/sdk');
  const guarded = fetchTo(endpoint);
  return {
    async ask({ model, system, data, schema, maxOutputTokens, signal }) {
      const exchange = oneExchange(guarded);
      // All that the package would otherwise take from the environment is said here.
      const client = new Anthropic({
        apiKey: keyNow(key),
        authToken: null,
        webhookKey: null,
        ...optionsOf(endpoint, exchange),
      });
      try {
        const said = await client.messages.create(
          {
            model,
            max_tokens: maxOutputTokens,
            system,
            messages: [{ role: 'user', content: data }],
            output_config: { format: { type: 'json_schema', schema: { ...schema } } },
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
  const {
    content,
    stop_reason,
    usage: counted,
  } = Object(said) as {
    content?: unknown;
    stop_reason?: unknown;
    usage?: unknown;
  };
  const usage = usageOf(counted);
  const unusable = unusableWith(usage);
  if (stop_reason === 'refusal') throw unusable('refused');
  if (stop_reason === 'max_tokens' || stop_reason === 'model_context_window_exceeded') throw unusable('truncated');
  const [block, second] = Array.isArray(content) ? (content as unknown[]) : [];
  const { type, text } = Object(block) as { type?: unknown; text?: unknown };
  if (stop_reason !== 'end_turn' || second !== undefined || type !== 'text' || typeof text !== 'string' || text === '')
    throw unusable('parse');
  return { text, usage };
}

/** What was read from a cache of the provider's, or written to it, counts like any other input. */
function usageOf(counted: unknown): Usage | null {
  const {
    input_tokens: input,
    output_tokens: output,
    cache_creation_input_tokens: written = 0,
    cache_read_input_tokens: read = 0,
  } = Object(counted) as Record<string, unknown>;
  const others = [written ?? 0, read ?? 0];
  if (!isTokenCount(input) || !isTokenCount(output) || !others.every(isTokenCount)) return null;
  return { inputTokens: others.reduce((sum, count) => sum + count, input), outputTokens: output };
}
