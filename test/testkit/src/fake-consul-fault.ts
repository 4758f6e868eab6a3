import type { ServerResponse } from 'node:http';

/** What the fake does with one request instead of answering it well. */
export type FakeConsulFault =
	/** A status with a body in text/plain, and with Consul's own headers if they are given. */
	| { readonly status: number; readonly text?: string; readonly own?: Readonly<Record<string, string>> }
	/** A good answer with other headers; null leaves a header out. */
	| { readonly headers: Readonly<Record<string, string | null>>; readonly body?: unknown }
	/** A proxy's page, with status 200. */
	| 'html'
	| 'reset before headers'
	| 'reset in mid-body'
	/** The answer stops there, and the connection stays open. */
	| 'stall before headers'
	| 'stall in mid-body';

/** Does to a request what the fault says, if that is no good answer. */
export function misbehave(
	fault: Exclude<FakeConsulFault, { readonly headers: unknown }>,
	response: ServerResponse,
	index: number,
): void {
	if (typeof fault === 'object') {
		response.writeHead(fault.status, { 'content-type': 'text/plain', ...fault.own }).end(fault.text ?? '');
	} else if (fault === 'html') {
		response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>');
	} else if (fault === 'reset before headers') {
		response.socket?.resetAndDestroy();
	} else if (fault === 'reset in mid-body' || fault === 'stall in mid-body') {
		response.writeHead(200, { 'content-type': 'application/json', 'x-consul-index': String(index) });
		response.write('[{"Node":', () => {
			if (fault === 'reset in mid-body') response.socket?.resetAndDestroy();
		});
	}
}
