/**
 * Whether a value is an Error, also one of another context of node:vm: a test under Jest has an `Error` of its own, and those that Node
 * makes, such as a refused connection, are no instances of that. They have its tag.
 */
export function isError(value: unknown): value is Error {
	return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}
