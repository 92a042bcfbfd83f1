/** The module under the package's own wrapper. The wrapper keeps one instance for ever and cannot be told where its wasm file is. */
declare module 'libpg-query/wasm/libpg-query.js' {
  export interface PgQueryInstance {
    _malloc(bytes: number): number;
    _free(pointer: number): void;
    _wasm_parse_query_raw(query: number): number;
    _wasm_free_parse_result(result: number): void;
    lengthBytesUTF8(text: string): number;
    stringToUTF8(text: string, pointer: number, bytes: number): void;
    UTF8ToString(pointer: number): string;
    getValue(pointer: number, type: 'i32'): number;
  }
  export default function createInstance(options: { locateFile(name: string): string }): Promise<PgQueryInstance>;
}
