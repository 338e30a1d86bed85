// Amounts as text, from minor units. The exponents are those of ISO 4217 itself: the tables that come with the runtime are made for
// display and differ (Iraqi dinar, Lebanese pound, forint), which would be wrong by a factor of a hundred or more in what a person approves.

const WITHOUT_MINOR_UNIT = new Set('BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' '))
const THREE_DIGITS = new Set('BHD IQD JOD KWD LYD OMR TND'.split(' '))
const FOUR_DIGITS = new Set(['CLF', 'UYW'])
const TWO_DIGITS = new Set((
  'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC ' +
  'CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD ' +
  'KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN ' +
  'QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED ' +
  'VES WST XCD XCG YER ZAR ZMW ZWG'
).split(' '))

/** `money(1999n, 'EUR')` is `19.99 EUR`. @throws RangeError where the currency is not one of ISO 4217 */
export function formatMoney (minor: bigint, currency: string): string {
  const digits = minorDigits(currency)
  const sign = minor < 0n ? '-' : ''
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, '0')
  const amount = digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
  return `${sign}${amount} ${currency}`
}

function minorDigits (currency: string): number {
  if (TWO_DIGITS.has(currency)) return 2
  if (WITHOUT_MINOR_UNIT.has(currency)) return 0
  if (THREE_DIGITS.has(currency)) return 3
  if (FOUR_DIGITS.has(currency)) return 4
  throw new RangeError('not a currency of ISO 4217')
}
