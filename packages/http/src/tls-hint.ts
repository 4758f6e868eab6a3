/**
 * Says of an error of a connection that is about bytes that are no TLS what that means; every other is left as it is. The
 * code is OpenSSL's: the first bytes of an answer in plain text are read as the version of a record.
 */
export function nameMissingTls(problem: unknown): unknown {
	if (!(problem instanceof Error)) return problem;
	const { code, message } = problem as NodeJS.ErrnoException;
	if (code !== 'ERR_SSL_WRONG_VERSION_NUMBER') return problem;
	const said = `it does not speak TLS on this port; use http, or the port where it does (${message.trim()})`;
	return Object.assign(new Error(said, { cause: problem.cause }), { code });
}
