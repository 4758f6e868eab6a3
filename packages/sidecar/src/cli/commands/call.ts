import { type ClientFlags, withClient } from '../client/with-client.ts';
import { CommandError, EXIT } from '../output/exit-codes.ts';
import { print } from '../output/output.ts';

/** `sidecar call FUNC [JSON]` */
export async function call(func: string, text: string | undefined, flags: ClientFlags): Promise<void> {
	let data: unknown = null;
	try {
		if (text !== undefined) data = JSON.parse(text);
	} catch (error) {
		const message = `the data is not JSON: ${(error as Error).message}. Quote it: sidecar call ping '{"a":1}'`;
		throw new CommandError(EXIT.usage, message, { cause: error });
	}
	await withClient(flags, async (client, timeoutMs) => {
		const reply = await client.call(func, data, timeoutMs);
		print(flags.json ? JSON.stringify(reply) : JSON.stringify(reply, null, 2));
	});
}
