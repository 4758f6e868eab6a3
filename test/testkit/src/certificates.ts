import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** A certificate and its private key, in PEM. */
export interface IssuedCertificate {
	readonly cert: string;
	readonly key: string;
}

/** What a certificate says. */
export interface CertificateRequest {
	/** DNS names and IPv4 addresses it is for. Default: 127.0.0.1 and localhost. */
	readonly names?: readonly string[];
	/** When it ends, against now, in milliseconds. Below zero: it is over. Default: an hour. */
	readonly endsInMs?: number;
}

/** A certificate authority of a test's own: no program and no file is needed. */
export interface TestAuthority {
	/** Its own certificate, in PEM: whom to trust. */
	readonly ca: string;
	issue(request?: CertificateRequest): IssuedCertificate;
}

const HOUR_MS = 3_600_000;

/** Makes an authority; two of the same name trust each other as little as any two. */
export function makeAuthority(name = 'spock test'): TestAuthority {
	const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
	const basicConstraints = extension('2.5.29.19', sequence(der(0x01, Buffer.from([0xff]))));
	const self = { issuer: name, subject: name, publicKey, signer: privateKey };
	const ca = certificate({ ...self, extensions: [basicConstraints], endsInMs: 10 * HOUR_MS });
	return {
		ca,
		issue: ({ names = ['127.0.0.1', 'localhost'], endsInMs = HOUR_MS } = {}) => {
			const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
			const altNames = names.map((text) =>
				isIPv4(text) ? der(0x87, Buffer.from(text.split('.').map(Number))) : der(0x82, Buffer.from(text)),
			);
			const extensions = [extension('2.5.29.17', sequence(...altNames))];
			const subject = names[0] ?? 'nobody';
			const cert = certificate({
				issuer: name,
				subject,
				publicKey: pair.publicKey,
				signer: privateKey,
				extensions,
				endsInMs,
			});
			const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
			// What was made is read back: a mistake in it shows here, and not as a strange handshake.
			if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
				throw new Error('certificate and key differ');
			return { cert, key };
		},
	};
}

interface Content {
	readonly issuer: string;
	readonly subject: string;
	readonly publicKey: KeyObject;
	readonly signer: KeyObject;
	readonly extensions: readonly Buffer[];
	readonly endsInMs: number;
}

/** An X.509 certificate of version 3, signed with ECDSA and SHA-256 (RFC 5280, section 4.1). */
function certificate({ issuer, subject, publicKey, signer, extensions, endsInMs }: Content): string {
	const algorithm = sequence(objectId('1.2.840.10045.4.3.2'));
	const now = Date.now();
	const signed = sequence(
		der(0xa0, der(0x02, Buffer.from([2]))),
		der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
		algorithm,
		distinguishedName(issuer),
		sequence(time(now - 2 * HOUR_MS), time(now + endsInMs)),
		distinguishedName(subject),
		publicKey.export({ type: 'spki', format: 'der' }) as Buffer,
		der(0xa3, sequence(...extensions)),
	);
	const signature = sign('sha256', signed, signer);
	const whole = sequence(signed, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
	const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
	return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

/** Tag, length, content: the one form of everything in DER. */
function der(tag: number, content: Buffer): Buffer {
	const { length } = content;
	const size =
		length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, Math.floor(length / 0x100), length % 0x100];
	return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
	return der(0x30, Buffer.concat(parts));
}

function objectId(text: string): Buffer {
	const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
	const bytes = rest.flatMap((part) => {
		const groups = [part % 128];
		for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128)) groups.unshift(128 + (left % 128));
		return groups;
	});
	return der(0x06, Buffer.from([first * 40 + second, ...bytes]));
}

function distinguishedName(commonName: string): Buffer {
	return sequence(der(0x31, sequence(objectId('2.5.4.3'), der(0x0c, Buffer.from(commonName)))));
}

function time(ms: number): Buffer {
	return der(0x18, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`));
}

function extension(id: string, value: Buffer): Buffer {
	return sequence(objectId(id), der(0x04, value));
}
