import { type ClientFlags, print, withClient } from '../client/with-client.ts';
import { printable } from '../output/printable.ts';

const NOTHING =
	'no names: nothing is registered there, or its token may read none; `sidecar status` shows where the sidecar asks\n';

/** `sidecar list` */
export async function list(flags: ClientFlags & { readonly datacenter?: string }): Promise<void> {
	await withClient(flags, async (client, timeoutMs) => {
		const { datacenter } = flags;
		const reply = await client.request('listServices', datacenter === undefined ? {} : { datacenter }, timeoutMs);
		if (flags.json) {
			print(JSON.stringify(reply));
			return;
		}
		if (reply.services.length === 0) process.stderr.write(NOTHING);
		for (const { name, tags } of reply.services)
			print(printable(tags.length === 0 ? name : `${name}  ${tags.join(',')}`));
	});
}
