/** The parts of one entry of /v1/health/state that are used. */
export interface StateEntry {
	readonly Node?: string;
	readonly CheckID?: string;
	readonly Status?: string;
	readonly ServiceID?: string;
	/** Empty for a check of the node itself. */
	readonly ServiceName?: string;
}

interface DigestedCheck {
	readonly node: string;
	readonly service: string;
	readonly status: string;
}

/** Every check of a datacenter that does not pass, by its own key, without the texts that change all the time. */
export type CheckDigest = ReadonlyMap<string, DigestedCheck>;

/** Whom a change of checks concerns. */
export interface CheckDiff {
	/** Names of services of whose own checks another one, or the same in another way, does not pass. */
	readonly services: ReadonlySet<string>;
	/** Names of nodes whose own checks have: every service on them is concerned. */
	readonly nodes: ReadonlySet<string>;
}

/**
 * What counts of the answer of /v1/health/state/any: one that passes is as good as none. A check's id is unique only within its
 * node.
 */
export function digestChecks(entries: readonly StateEntry[]): CheckDigest {
	const digest = new Map<string, DigestedCheck>();
	for (const { Node = '', CheckID = '', Status = '', ServiceID = '', ServiceName = '' } of entries) {
		if (Status === 'passing') continue;
		digest.set(JSON.stringify([Node, ServiceID, CheckID]), { node: Node, service: ServiceName, status: Status });
	}
	return digest;
}

/** Who is concerned by what lies between two digests. */
export function diffChecks(before: CheckDigest, after: CheckDigest): CheckDiff {
	const services = new Set<string>();
	const nodes = new Set<string>();
	const concern = ({ node, service }: DigestedCheck): void => {
		if (service === '') nodes.add(node);
		else services.add(service);
	};
	let kept = 0;
	for (const [key, check] of after) {
		const old = before.get(key);
		if (old !== undefined) kept++;
		if (old?.status === check.status && old.service === check.service) continue;
		concern(check);
		if (old !== undefined) concern(old);
	}
	if (kept < before.size) {
		for (const [key, old] of before) if (!after.has(key)) concern(old);
	}
	return { services, nodes };
}
