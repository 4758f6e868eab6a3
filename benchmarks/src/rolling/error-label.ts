/** How deep causes are followed: an error may be its own cause. */
const CAUSES_MAX = 4;

/** A short name for the error of a request, of all codes from the outermost to the cause: `UNAVAILABLE: ECONNREFUSED`. */
export function errorLabel(error: unknown): string {
	const labels: string[] = [];
	let cause = error;
	for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth++) {
		const label = codeOf(cause);
		if (!labels.includes(label)) labels.push(label);
		({ cause } = cause);
	}
	return labels.length === 0 ? String(error) : labels.join(': ');
}

/** The codes of gRPC are numbers, and its messages begin with their names. */
function codeOf(error: Error): string {
	const { code } = error as { readonly code?: unknown };
	if (typeof code === 'string') return code;
	if (typeof code === 'number')
		return `gRPC ${code}${/ECONN\w+|EPIPE/.exec(error.message)?.[0].replace(/^/, ' ') ?? ''}`;
	return error.name;
}
