import { describeSourceContract, FakeSidecar, fakeSnapshot, type MakeFixture, tempSocket } from '@spock/testkit';
import { resolveOptions } from '../foundation/options.ts';
import { RemoteSource } from './remote-source.ts';

async function makeSource(fallback?: () => never): ReturnType<MakeFixture> {
	const place = await tempSocket();
	const held: (() => void)[] = [];
	let holding = false;
	const sidecar = await FakeSidecar.listen(place.path, {
		handle: ({ func, id, data, connection }) => {
			if (func !== 'watchService' || !holding) return undefined;
			held.push(() => {
				const { service } = data as { service: string };
				const there = sidecar.connections[connection];
				there?.subscriptions.add(service);
				there?.reply(id, sidecar.snapshotOf({ service }));
			});
			return 'hold';
		},
	});
	const source = new RemoteSource(resolveOptions({ path: place.path, fallbackAfterMs: 1 }), fallback);
	await source.connection.ready();
	let revision = 1;
	return {
		source,
		setService: (service, hosts) => sidecar.publish(fakeSnapshot(service, ++revision, [...hosts].sort())),
		holdAnswers: (hold) => {
			holding = hold;
			if (!hold) for (const answer of held.splice(0)) answer();
		},
		cutOff: (isCut) => (isCut ? sidecar.stop() : sidecar.listen(place.path)),
		[Symbol.asyncDispose]: async () => {
			await source.close();
			await sidecar.stop();
			await place[Symbol.asyncDispose]();
		},
	};
}

/** Is of no use: what it adds must not be noticed. */
const fallback = (): never => {
	throw new Error('there is none');
};

// The fake one knows nothing of tags; the real one beside it does.
describeSourceContract('RemoteSource over a socket', () => makeSource(), { hasTags: false, hasDatacenter: false });
describeSourceContract('RemoteSource with a fallback', () => makeSource(fallback), {
	hasTags: false,
	hasDatacenter: false,
});
