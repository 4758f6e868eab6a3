import { type Tool, toolOf } from '../../toolbox.ts';
import type { LeftOut, PeerId } from './peers-results.ts';

/** The servers that nothing but these peers needs. They take long to build, and are not there everywhere. */
export type PeerPrograms = Readonly<Record<'kafka' | 'dapr', Tool>>;

/** KFAKE_BIN and DAPRD_BIN, else the builds of tools/kfake and tools/dapr. */
export function findPeerPrograms(env: Readonly<Record<string, string | undefined>>): PeerPrograms {
	return { kafka: toolOf('kfake', 'KFAKE_BIN', env), dapr: toolOf('dapr', 'DAPRD_BIN', env) };
}

/** Which of these peers cannot be measured. */
export function peersWithout(programs: PeerPrograms, peers: readonly PeerId[]): LeftOut[] {
	return peers.flatMap((peer) => {
		const program = peer === 'kafka' || peer === 'dapr' ? programs[peer] : undefined;
		return program !== undefined && 'missing' in program ? [{ peer, why: program.missing }] : [];
	});
}
