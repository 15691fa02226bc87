// says: compile_texture.cu:5:
// says: cudaCreateTextureObject
int main()
{
    cudaCreateTextureObject(nullptr, nullptr, nullptr, nullptr);
}
