// The readers and writers of tsshogi, as another program that reads our records and writes records for us.
export { Move, Record, exportCSA, exportKI2, exportKIF, importCSA, importKI2, importKIF } from "tsshogi";
