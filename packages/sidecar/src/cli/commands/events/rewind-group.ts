import type { ClientFlags } from '../../client/sidecar-target.ts';
import { withClient } from '../../client/with-client.ts';
import { print } from '../../output/output.ts';
import { placeOf } from './show-events.ts';

/** `sidecar events rewind STREAM GROUP --to PLACE`: prints the position of the next event that the group gets. */
export async function rewindGroup(
	stream: string,
	group: string,
	flags: ClientFlags & { readonly to: string },
): Promise<void> {
	const to = placeOf('--to', flags.to);
	await withClient(flags, async (client, options) => {
		const reply = await client.request('rewindGroup', { stream, group, to }, options);
		print(flags.json ? JSON.stringify(reply) : `${reply.position}`);
	});
}
