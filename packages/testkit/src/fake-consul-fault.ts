/** What the fake does with one request instead of answering it well. */
export type FakeConsulFault =
	/** A status with a body in text/plain. */
	| { readonly status: number; readonly text?: string }
	/** A good answer with other headers; null leaves a header out. */
	| { readonly headers: Readonly<Record<string, string | null>>; readonly body?: unknown }
	/** A proxy's page, with status 200. */
	| 'html'
	| 'reset before headers'
	| 'reset in mid-body'
	/** The answer stops there, and the connection stays open. */
	| 'stall before headers'
	| 'stall in mid-body';
