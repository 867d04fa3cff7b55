/** The types that the table of the texts is made of. */

/** Numbers and times in the form of the language. */
export interface Numbers {
  readonly number: (value: number) => string;
  /** Takes the forms for one and for more. */
  readonly counted: (count: number, one: string, many: string) => string;
  /** A day and a time of it. */
  readonly moment: (time: Date) => string;
}

/** The shape of the table, with any string for a text. */
export type Shape<T> = T extends (...given: infer Given) => string
  ? (...given: Given) => string
  : T extends string
    ? string
    : { readonly [Name in keyof T]: Shape<T[Name]> };
