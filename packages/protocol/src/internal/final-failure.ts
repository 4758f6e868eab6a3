/** What a failure is judged by: a SpockError has both. */
interface Failure {
	readonly retryable: boolean;
	readonly details: Readonly<Record<string, unknown>>;
}

/**
 * True for a failure that is an answer: the query or its caller is refused, or the process closes. A caller that waits then need not wait
 * until its deadline. Any other failure may be over before that: whatever has failed is tried again. `isRefused` is the detail of a code
 * that may pass, from a registry that has answered that it cannot answer this query, such as one for an unknown datacenter.
 */
export function isFinal({ retryable, details }: Failure): boolean {
	return !retryable || details['isRefused'] === true;
}
