import { type Answer, decode, encode, RECURSION_DESIRED } from 'dns-packet';

/** The kinds of records that are asked for. */
export type DnsType = 'SRV' | 'A' | 'AAAA' | 'SOA';

/** What is asked of a name server. */
export interface DnsQuestion {
	readonly name: string;
	readonly type: DnsType;
}

/** One record of an answer: of the kinds asked for, and the aliases on the way to them. `data` is as dns-packet gives it. */
export interface DnsRecord {
	readonly name: string;
	readonly type: string;
	/** In seconds. */
	readonly ttl: number;
	readonly data: unknown;
}

/** A server's answer to one question. */
export interface DnsReply {
	/** `NOERROR`, `NXDOMAIN`, `SERVFAIL`, … */
	readonly rcode: string;
	/** True if the answer did not fit: the server is to be asked over TCP. */
	readonly isTruncated: boolean;
	/** How long the message was. */
	readonly byteLength: number;
	readonly answers: readonly DnsRecord[];
	readonly authorities: readonly DnsRecord[];
	readonly additionals: readonly DnsRecord[];
}

/**
 * The bytes of a query. `udpPayloadSize` says how long an answer over UDP may be; 0 leaves EDNS out, for servers that do
 * not know it. Source: RFC 1035 section 4, RFC 6891.
 */
export function encodeQuery(id: number, { name, type }: DnsQuestion, udpPayloadSize: number): Buffer {
	return encode({
		type: 'query',
		id,
		flags: RECURSION_DESIRED,
		questions: [{ name, type, class: 'IN' }],
		...(udpPayloadSize > 0 && {
			additionals: [
				{
					type: 'OPT',
					name: '.',
					udpPayloadSize,
					extendedRcode: 0,
					ednsVersion: 0,
					flags: 0,
					flag_do: false,
					options: [],
				},
			],
		}),
	});
}

/**
 * Reads a message as the answer to a question; undefined if it is none: broken, another id, another question, no answer.
 * Such a message is a stray or a forgery, and the true answer may still come. Source: RFC 5452 section 9.
 */
export function readReply(bytes: Uint8Array, id: number, question: DnsQuestion): DnsReply | undefined {
	let packet: ReturnType<typeof decode>;
	try {
		packet = decode(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
	} catch {
		// Whoever sends what is no DNS message has not answered.
		return undefined;
	}
	const [asked, ...more] = packet.questions ?? [];
	if (packet.type !== 'response' || packet.id !== id || asked === undefined || more.length > 0) return undefined;
	if (!isSameName(asked.name, question.name) || asked.type !== question.type) return undefined;
	return {
		rcode: (packet as { readonly rcode?: string }).rcode ?? 'NOERROR',
		isTruncated: (packet as { readonly flag_tc?: boolean }).flag_tc === true,
		byteLength: bytes.byteLength,
		answers: recordsOf(packet.answers),
		authorities: recordsOf(packet.authorities),
		additionals: recordsOf(packet.additionals),
	};
}

/** Names are equal whatever the case of their letters, and with or without the dot at the end. RFC 4343. */
export function isSameName(left: string, right: string): boolean {
	return canonicalName(left) === canonicalName(right);
}

/** The form of a name under which it is kept in a table. */
export function canonicalName(name: string): string {
	return name.replace(/\.$/, '').toLowerCase();
}

function recordsOf(answers: readonly Answer[] | undefined): DnsRecord[] {
	const records: DnsRecord[] = [];
	for (const answer of answers ?? []) {
		if (answer.type === 'OPT') continue;
		const { name, type, data } = answer;
		records.push({ name, type, ttl: 'ttl' in answer ? (answer.ttl ?? 0) : 0, data });
	}
	return records;
}
